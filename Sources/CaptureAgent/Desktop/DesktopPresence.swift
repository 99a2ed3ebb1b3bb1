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

  /// How the broadcast stands.
  struct State: Equatable {
    /// Somebody may see the screen.
    var isLive = false
    var reasons: PauseReasons = []
    var viewers = 0
  }

  /// What the person does.
  enum Event {
    case locked(Bool)
    case pressed(LiveNotification.Button)
  }

  // A bus that is gone, or not there yet, is looked for so often.
  private static let reconnectPause: Int64 = 10_000_000_000

  private let loop: Loop
  private let wishes: Wishes
  private let onEvent: (Event) -> Void
  private let inhibition: Inhibition
  private let notification: LiveNotification
  private let lock: LockWatch
  private var session: Bus?
  private var system: Bus?
  private var isLost = false
  private var lastAttempt: Int64?

  /// `onEvent` is called inside a callback of a bus: the presence must not be closed there. `record` is the
  /// file of the notification.
  init(
    loop: Loop, wishes: Wishes, name: String, record: NotificationRecord,
    onEvent: @escaping (Event) -> Void
  ) {
    self.loop = loop
    self.wishes = wishes
    self.onEvent = onEvent
    inhibition = Inhibition(reason: "The screen is broadcast: \(name)")
    notification = LiveNotification(name: name, record: record, isWanted: wishes.notifies) {
      onEvent(.pressed($0))
    }
    lock = LockWatch { onEvent(.locked($0)) }
  }

  /// Looks for the buses. Where a lock is to pause, the session counts as locked until it is known not to be.
  func start() {
    if wishes.pausesOnLock { onEvent(.locked(true)) }
    connect(now: MonotonicClock.now())
    if wishes.pausesOnLock { lock.settle() }
  }

  func show(_ state: State) {
    inhibition.set(wishes.inhibits && state.isLive && state.reasons.isEmpty)
    let content = LiveNotification.Content(reasons: state.reasons, viewers: state.viewers)
    notification.show(state.isLive ? content : nil)
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
    show(State())
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
