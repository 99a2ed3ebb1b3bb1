import PipeWire
import Posix
import Report
import Wire

/// What the desktop and the person at it have to do with the broadcast: while it is live the machine stays
/// awake and a notification stands, with buttons; a locked session pauses it. A machine without any of that
/// broadcasts all the same, and nothing is said of it. Loop thread only.
final class DesktopPresence {
  /// What of it is wanted.
  struct Wishes: Equatable, Sendable {
    var inhibits = true
    var notifies = true
    var pausesOnLock = false
  }

  // A bus that is gone, or not there yet, is looked for so often.
  private static let reconnectPause: Int64 = 10_000_000_000

  private let loop: Loop
  private let wishes: Wishes
  private let pause: Pause
  private let inhibition: Inhibition
  private let notification: LiveNotification
  private let lock: LockWatch
  private var session: Bus?
  private var system: Bus?
  private var isLost = false
  private var lastAttempt: Int64?

  /// The person's pauses go into `pause`. `onStop` is called where the person ends the broadcast, inside a
  /// callback of a bus: the presence must not be closed there. `record` is the file of the notification.
  init(
    loop: Loop, wishes: Wishes, name: String, record: NotificationRecord, pause: Pause,
    onStop: @escaping () -> Void
  ) {
    self.loop = loop
    self.wishes = wishes
    self.pause = pause
    inhibition = Inhibition(reason: "The screen is broadcast: \(name)")
    notification = LiveNotification(name: name, record: record, isWanted: wishes.notifies) {
      switch $0 {
      case .pause: pause.begin(.person)
      case .resume: pause.end(.person)
      case .stop: onStop()
      }
    }
    lock = LockWatch { $0 ? pause.begin(.locked) : pause.end(.locked) }
  }

  /// Looks for the buses. Where a lock is to pause, the session counts as locked until it is known not to be.
  func start() {
    if wishes.pausesOnLock { pause.begin(.locked) }
    connect(now: MonotonicClock.now())
    if wishes.pausesOnLock { lock.settle() }
  }

  /// How the broadcast stands; live while somebody may see the screen, pauses included.
  func show(isLive: Bool, viewers: Int) {
    inhibition.set(wishes.inhibits && isLive && !pause.isOn)
    notification.show(isLive ? .init(reasons: pause.reasons, viewers: viewers) : nil)
  }

  /// Once a second.
  func tick(now: Int64) {
    if isLost {
      isLost = false
      drop()
    }
    if session == nil, now - (lastAttempt ?? 0) >= Self.reconnectPause { connect(now: now) }
    notification.tick(now: now)
  }

  /// Takes away what is to be seen, and lets the machine sleep.
  func close() {
    show(isLive: false, viewers: 0)
    notification.end()
    drop()
  }

  private func connect(now: Int64) {
    lastAttempt = now
    do throws(BusError) {
      let bus = try Bus(loop: loop) { [unowned self] _ in isLost = true }
      session = bus
      if wishes.inhibits { try inhibition.use(bus) }
      // Also one that is not wanted any more may stand there still.
      try notification.use(bus)
      guard wishes.pausesOnLock else { return }
      try lock.watchSavers(on: bus)
    } catch {
      isLost = true
    }
    guard wishes.pausesOnLock, system == nil else { return }
    // A machine without logind has no bus of its own, or nobody there who knows.
    system = try? Bus(.system, loop: loop) { _ in }
    if let system { try? lock.watchLogin(on: system) }
  }

  private func drop() {
    try? inhibition.use(nil)
    try? notification.use(nil)
    session = nil
  }
}
