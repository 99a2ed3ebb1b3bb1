import CPipeWire
import Posix

/// PipeWire's main loop, the only loop of a process that has one; it needs no daemon.
///
/// Everything here belongs to the thread that makes it and calls `run()`, but for
/// `EventSource.signal()`. A source is taken off the loop by `remove()` or when its last reference
/// goes, both on the loop's thread; inside its own callback is fine. An `EventSource` stays until
/// `remove()` or the loop's end, since other threads hold references to it.
@safe
package final class Loop {
  /// For the calls that take a loop; valid as long as this object.
  let raw: UnsafeMutablePointer<pw_loop>
  private let main: OpaquePointer
  private var events: [EventSource] = []

  /// Loads PipeWire's support plugins, which is what may fail.
  package init() throws(PipeWireError) {
    pw_init(nil, nil)
    // Its warnings are of no use to whoever runs the agent: at each start that no module is loaded by
    // configuration, and that its data thread gets no real-time priority.
    if Environment.value(of: "PIPEWIRE_DEBUG") == nil { pw_log_set_level(SPA_LOG_LEVEL_ERROR) }
    unsafe main = try check(pw_main_loop_new(nil), "pw_main_loop_new")
    unsafe raw = pw_main_loop_get_loop(main)
    // What other threads send to a loop that nobody has entered they run themselves: between two
    // runs, and before the last source has stopped, the stream's callbacks would be on the data
    // thread.
    unsafe ph_loop_enter(raw)
  }

  deinit {
    for event in events { event.takeOff(self) }
    unsafe ph_loop_leave(raw)
    unsafe pw_main_loop_destroy(main)
  }

  /// Runs callbacks until `quit()`.
  package func run() { unsafe pw_main_loop_run(main) }

  /// Makes `run()` return after the callback at hand.
  package func quit() { unsafe pw_main_loop_quit(main) }

  /// Watches a descriptor, which stays the caller's and must outlive the source; level-triggered.
  ///
  /// `hangUp` and `error` are reported whether asked for or not.
  package func addIO(
    fd: Int32, for events: IOEvents, _ body: @escaping (IOEvents) -> Void
  ) throws(PipeWireError) -> IOSource {
    try IOSource(loop: self, fd: fd, events: events, body: body)
  }

  /// Makes a timer that is not armed.
  package func addTimer(_ body: @escaping () -> Void) throws(PipeWireError) -> TimerSource {
    try TimerSource(loop: self, body: body)
  }

  /// Takes a signal as an event. It blocks the signal in the calling thread: call it before any
  /// other thread is made, or that thread may be given the signal.
  package func addSignal(
    _ number: Int32, _ body: @escaping () -> Void
  ) throws(PipeWireError) -> SignalSource {
    try SignalSource(loop: self, number: number, body: body)
  }

  /// Makes an event that any thread may signal; signals that come before the body ran are one.
  package func addEvent(_ body: @escaping () -> Void) throws(PipeWireError) -> EventSource {
    let event = try EventSource(loop: self, body: body)
    events.append(event)
    return event
  }

  func forget(_ event: EventSource) {
    events.removeAll { $0 === event }
  }
}

/// What a descriptor is ready for.
package struct IOEvents: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let readable = IOEvents(rawValue: UInt32(SPA_IO_IN))
  package static let writable = IOEvents(rawValue: UInt32(SPA_IO_OUT))
  package static let error = IOEvents(rawValue: UInt32(SPA_IO_ERR))
  package static let hangUp = IOEvents(rawValue: UInt32(SPA_IO_HUP))
}
