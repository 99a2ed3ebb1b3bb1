import PipeWire
import Posix
import Report
import Wire

/// What the desktop and the person at it have to do with the broadcast: while it is live the machine stays
/// awake and a notification stands, with buttons; a locked session and a monitor that is switched off pause
/// it. A machine without any of that broadcasts all the same, and nothing is said of it. Loop thread only.
final class DesktopPresence {
  /// What of it is wanted.
  struct Wishes: Equatable, Sendable {
    var inhibits = true
    var notifies = true
    var pausesOnLock = false
    /// What is shown is on a monitor that the desktop may switch off.
    var watchesOutputs = false
  }

  // A bus that is gone, or not there yet, is looked for so often.
  private static let reconnectPause: Int64 = 10_000_000_000

  private let loop: Loop
  private let wishes: Wishes
  private let pause: Pause
  private let inhibition: Inhibition
  private let notification: LiveNotification
  private let lock: LockWatch
  private let outputs: OutputWatch
  private var session: Bus?
  private var system: Bus?
  private var isLost = false
  private var isSystemLost = false
  private var isAsleep = false
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
    lock = LockWatch {
      if $0 { pause.begin(.locked) } else { pause.end(.locked) }
      pause.decide(.locked)
    }
    outputs = OutputWatch {
      switch $0 {
      case .unknown: return pause.wait(for: .outputOff)
      case .off: pause.begin(.outputOff)
      case .on: pause.end(.outputOff)
      }
      pause.decide(.outputOff)
    }
  }

  /// Looks for the buses. Where a lock is to pause, nothing is shown until it is known whether there is one.
  func start() {
    if wishes.pausesOnLock { pause.wait(for: .locked) }
    connect(now: MonotonicClock.now())
    if wishes.pausesOnLock { lock.settle() }
  }

  /// How the broadcast stands; live while somebody may see the screen, pauses included.
  func show(isLive: Bool, viewers: Int) {
    inhibition.set(wishes.inhibits && isLive && !pause.isOn)
    notification.show(isLive ? .init(reasons: pause.reasons, viewers: viewers) : nil)
  }

  /// The relay has handed over the reasons of the agent before this one: those that hold no more end.
  func review() {
    if !wishes.pausesOnLock || lock.isUnlocked { pause.end(.locked) }
    if !isAsleep { pause.end(.asleep) }
    if !outputs.isOff { pause.end(.outputOff) }
  }

  /// Pictures of this size come, of a monitor at `place` where that is known.
  func screenShown(at place: MonitorLayout.Place?, size: (width: Int, height: Int)) {
    if wishes.watchesOutputs { outputs.show(at: place, size: size) }
  }

  /// The producer of its pictures has stopped for a while, or goes on.
  func screenSuspended(_ isSuspended: Bool) { outputs.suspend(isSuspended) }

  /// Once a second. `frames`: how many the screen has given.
  func tick(now: Int64, frames: Int) {
    if isLost {
      isLost = false
      try? outputs.use(nil)
      drop()
      if wishes.pausesOnLock { lock.lose(.session) }
    }
    if isSystemLost {
      isSystemLost = false
      isAsleep = false
      system = nil
      if wishes.pausesOnLock { lock.lose(.system) }
      review()
    }
    if session == nil || system == nil, now - (lastAttempt ?? 0) >= Self.reconnectPause {
      connect(now: now)
    }
    outputs.tick(frames: frames)
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
    if session == nil { connectSession() }
    if system == nil { connectSystem() }
  }

  private func connectSession() {
    do throws(BusError) {
      let bus = try Bus(loop: loop) { [unowned self] _ in isLost = true }
      session = bus
      if wishes.inhibits { try inhibition.use(bus) }
      // Also one that is not wanted any more may stand there still.
      try notification.use(bus)
      if wishes.pausesOnLock { try lock.watchSavers(on: bus) }
      if wishes.watchesOutputs { try outputs.use(bus) }
    } catch {
      isLost = true
    }
  }

  /// A machine without logind has no such bus, or nobody there who knows.
  private func connectSystem() {
    do throws(BusError) {
      let bus = try Bus(.system, loop: loop) { [unowned self] _ in isSystemLost = true }
      system = bus
      try bus.watchSignal(
        "PrepareForSleep", of: "org.freedesktop.login1.Manager", from: LockWatch.login
      ) { [unowned self] _, values in
        isAsleep = values.first?.truth == true
        isAsleep ? pause.begin(.asleep) : pause.end(.asleep)
      }
      if wishes.pausesOnLock { try lock.watchLogin(on: bus) }
    } catch {
      isSystemLost = true
    }
  }

  private func drop() {
    try? inhibition.use(nil)
    try? notification.use(nil)
    session = nil
  }
}
