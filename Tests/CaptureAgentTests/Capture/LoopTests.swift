import Glibc
import PipeWire
import Posix
import TestSupport
import Testing

/// The agent's loop by itself, without a daemon.
@Suite struct LoopTests {
  @Test func `an event signalled on another thread runs on the loop's`() throws {
    let loop = try Loop()
    let here = pthread_self()
    var there = pthread_t()
    var ranHere = false
    let event = try loop.addEvent {
      ranHere = pthread_equal(here, pthread_self()) != 0
      loop.quit()
    }
    let context = Unmanaged.passRetained(event).toOpaque()
    pthread_create(
      &there, nil,
      { context in
        Unmanaged<EventSource>.fromOpaque(context!).takeRetainedValue().signal()
        return nil
      }, context)
    try run(loop)
    pthread_join(there, nil)
    #expect(ranHere)
  }

  @Test func `a removed event may still be signalled, and does nothing`() throws {
    let loop = try Loop()
    var count = 0
    let event = try loop.addEvent { count += 1 }
    event.remove()
    event.signal()
    try run(loop, for: .milliseconds(20))
    #expect(count == 0)
  }

  @Test func `a timer repeats until it is disarmed, and once without an interval`() throws {
    let loop = try Loop()
    var ticks = 0
    var shots = 0
    var timer: TimerSource?
    timer = try loop.addTimer {
      ticks += 1
      if ticks == 3 { timer?.disarm() }
    }
    let single = try loop.addTimer { shots += 1 }
    timer?.arm(after: .zero, every: .milliseconds(1))
    single.arm(after: .zero)
    try run(loop, for: .milliseconds(50))
    #expect(ticks == 3)
    #expect(shots == 1)
  }

  @Test func `a source may be removed inside its own callback`() throws {
    let loop = try Loop()
    var timer: TimerSource?
    var count = 0
    timer = try loop.addTimer {
      count += 1
      timer?.remove()
      timer = nil
    }
    timer?.arm(after: .zero, every: .milliseconds(1))
    try run(loop, for: .milliseconds(20))
    #expect(count == 1)
  }

  @Test func `a descriptor tells readable, and hang-up unasked`() throws {
    let loop = try Loop()
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let ours = OwnedFD(pair[0])
    var theirs: OwnedFD? = OwnedFD(pair[1])
    var seen: IOEvents = []
    let source = try loop.addIO(fd: ours.raw, for: []) { events in
      seen.formUnion(events)
      loop.quit()
    }
    #expect(write(pair[1], "x", 1) == 1)
    try run(loop, for: .milliseconds(20))
    #expect(seen == [], "nothing was asked for")
    try source.update(for: .readable)
    try run(loop)
    #expect(seen == .readable)
    theirs = nil
    try source.update(for: [])
    try run(loop)
    #expect(seen.contains(.hangUp))
    _ = theirs == nil
    source.remove()
  }

  @Test func `a signal arrives as an event`() throws {
    let loop = try Loop()
    var count = 0
    let source = try loop.addSignal(SIGUSR1) {
      count += 1
      loop.quit()
    }
    pthread_kill(pthread_self(), SIGUSR1)
    try run(loop)
    #expect(count == 1)
    source.remove()
  }

  /// Runs until `quit()`, or fails at the deadline.
  private func run(_ loop: Loop) throws {
    var isLate = false
    let deadline = try loop.addTimer {
      isLate = true
      loop.quit()
    }
    deadline.arm(after: .seconds(5))
    loop.run()
    #expect(!isLate)
  }

  /// Runs for a time in which something must not happen.
  private func run(_ loop: Loop, for time: Duration) throws {
    let end = try loop.addTimer { loop.quit() }
    end.arm(after: time)
    loop.run()
  }
}
