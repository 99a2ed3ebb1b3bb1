import CPipeWire
import Glibc
import Synchronization

/// What a loop watches; the kinds follow below. Loop thread only.
@safe
package class LoopSource {
  fileprivate let loop: Loop
  fileprivate var raw: UnsafeMutablePointer<spa_source>?

  fileprivate init(loop: Loop) { self.loop = loop }

  deinit { remove() }

  /// Ends the watch; a second call does nothing.
  package func remove() {
    guard let source = unsafe raw else { return }
    unsafe raw = nil
    unsafe ph_loop_destroy_source(loop.raw, source)
  }

  /// What the C callbacks get; the source outlives them, for it is removed before it goes.
  fileprivate var context: UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(self).toOpaque()
  }
}

/// A watched descriptor.
@safe
package final class IOSource: LoopSource {
  private let body: (IOEvents) -> Void

  init(
    loop: Loop, fd: Int32, events: IOEvents, body: @escaping (IOEvents) -> Void
  ) throws(PipeWireError) {
    self.body = body
    super.init(loop: loop)
    unsafe raw = try check(
      ph_loop_add_io(
        loop.raw, fd, events.rawValue,
        { context, _, mask in
          let source = unsafe Unmanaged<IOSource>.fromOpaque(context!).takeUnretainedValue()
          source.body(IOEvents(rawValue: mask))
        }, context), "pw_loop_add_io")
  }

  /// Changes what to wait for.
  package func update(for events: IOEvents) throws(PipeWireError) {
    guard let source = unsafe raw else { return }
    try unsafe check(ph_loop_update_io(loop.raw, source, events.rawValue), "pw_loop_update_io")
  }
}

/// A timer on CLOCK_MONOTONIC.
@safe
package final class TimerSource: LoopSource {
  private let body: () -> Void

  init(loop: Loop, body: @escaping () -> Void) throws(PipeWireError) {
    self.body = body
    super.init(loop: loop)
    unsafe raw = try check(
      ph_loop_add_timer(
        loop.raw,
        { context, _ in
          let source = unsafe Unmanaged<TimerSource>.fromOpaque(context!).takeUnretainedValue()
          source.body()
        }, context), "pw_loop_add_timer")
  }

  /// Starts it anew: first after `delay`, then every `interval`, or once where that is nil. Ticks
  /// missed while the loop was busy come as one.
  package func arm(after delay: Duration, every interval: Duration? = nil) {
    // An all-zero value would disarm it.
    set(max(delay, .nanoseconds(1)), interval ?? .zero)
  }

  /// Stops it; it can be armed again.
  package func disarm() { set(.zero, .zero) }

  private func set(_ delay: Duration, _ interval: Duration) {
    guard let source = unsafe raw else { return }
    var value = timespec(delay)
    var every = timespec(interval)
    let result = unsafe ph_loop_update_timer(loop.raw, source, &value, &every)
    precondition(result >= 0, "a timer refuses only a time that is no time")
  }
}

/// A signal that arrives as an event.
@safe
package final class SignalSource: LoopSource {
  private let body: () -> Void

  init(loop: Loop, number: Int32, body: @escaping () -> Void) throws(PipeWireError) {
    self.body = body
    super.init(loop: loop)
    unsafe raw = try check(
      ph_loop_add_signal(
        loop.raw, number,
        { context, _ in
          let source = unsafe Unmanaged<SignalSource>.fromOpaque(context!).takeUnretainedValue()
          source.body()
        }, context), "pw_loop_add_signal")
  }
}

/// An event that any thread may signal.
///
/// Unchecked: `target` is guarded by its lock, and `body` is called on the loop's thread only.
@safe
package final class EventSource: @unchecked Sendable {
  @safe
  private struct Target: @unchecked Sendable {
    let loop: UnsafeMutablePointer<pw_loop>
    let source: UnsafeMutablePointer<spa_source>
  }

  private let target = Mutex<Target?>(nil)
  private let body: () -> Void
  private weak var owner: Loop?

  init(loop: Loop, body: @escaping () -> Void) throws(PipeWireError) {
    self.body = body
    owner = loop
    let source = try unsafe check(
      ph_loop_add_event(
        loop.raw,
        { context, _ in
          let source = unsafe Unmanaged<EventSource>.fromOpaque(context!).takeUnretainedValue()
          source.body()
        }, Unmanaged.passUnretained(self).toOpaque()), "pw_loop_add_event")
    let added = unsafe Target(loop: loop.raw, source: source)
    target.withLock { $0 = added }
  }

  /// Has the body called soon, on the loop's thread; nothing once removed. Any thread.
  package func signal() {
    target.withLock { target in
      guard let target else { return }
      unsafe ph_loop_signal_event(target.loop, target.source)
    }
  }

  /// Ends it; a second call does nothing. Loop thread only.
  package func remove() {
    guard let owner else { return }
    takeOff(owner)
    owner.forget(self)
  }

  func takeOff(_ loop: Loop) {
    target.withLock { target in
      guard let removed = target else { return }
      target = nil
      unsafe ph_loop_destroy_source(removed.loop, removed.source)
    }
  }
}

extension timespec {
  fileprivate init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self.init(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }
}
