import Testing
import Wire

@testable import HostRelay

private func live() -> Session {
  var session = Session(id: 7, hold: .seconds(30))
  session.agentGreeted(session: 0, epoch: 0)
  session.keyframeArrived()
  return session
}

@Suite struct SessionTests {
  private let start = Moment.now

  @Test("a session waits, starts with an agent and is live with its first keyframe")
  func begins() {
    var session = Session(id: 7, hold: .seconds(30))
    #expect(session.state == .waiting && session.epoch == 0)
    session.agentGreeted(session: 7, epoch: 1)
    #expect(session.state == .starting && session.epoch == 1)
    session.keyframeArrived()
    #expect(session.state == .live)
  }

  @Test("an agent that never showed a picture leaves a session that waits")
  func neverStarted() {
    var session = Session(id: 7, hold: .seconds(30))
    session.agentGreeted(session: 0, epoch: 0)
    session.linkLost("gone", now: start)
    #expect(session.state == .waiting)
    #expect(!session.isExpired(now: start + .seconds(100)))
  }

  @Test("a lost agent interrupts, the next one's keyframe makes it live under a later epoch")
  func interrupted() {
    var session = live()
    session.linkLost("gone", now: start)
    #expect(session.state == .interrupted && session.text == "gone")
    session.explain("killed by SIGKILL")
    #expect(session.text == "killed by SIGKILL")
    session.agentGreeted(session: 0, epoch: 0)
    #expect(session.state == .interrupted && session.epoch == 2)
    session.keyframeArrived()
    #expect(session.state == .live && session.text.isEmpty && session.id == 7)
  }

  @Test("the same agent that comes back keeps its epoch")
  func sameAgent() {
    var session = live()
    session.linkLost("silent", now: start)
    session.agentGreeted(session: 7, epoch: 1)
    #expect(session.epoch == 1)
  }

  @Test("a new relay takes over the session that an agent carries, an old one does not")
  func takenOver() {
    var fresh = Session(id: 7, hold: nil)
    fresh.agentGreeted(session: 9, epoch: 4)
    #expect(fresh.id == 9 && fresh.epoch == 4)
    var old = live()
    old.linkLost("gone", now: start)
    old.agentGreeted(session: 9, epoch: 4)
    #expect(old.id == 7 && old.epoch == 2)
  }

  @Test("it is held for the hold time, and for ever without one")
  func hold() {
    var session = live()
    session.linkLost("gone", now: start)
    session.linkLost("gone again", now: start + .seconds(20))
    #expect(!session.isExpired(now: start + .milliseconds(29_999)))
    #expect(session.isExpired(now: start + .seconds(30)))
    var forever = Session(id: 7, hold: nil)
    forever.agentGreeted(session: 0, epoch: 0)
    forever.keyframeArrived()
    forever.linkLost("gone", now: start)
    #expect(!forever.isExpired(now: start + .seconds(1_000_000)))
  }

  @Test("it is held without a picture, and an agent that shows none does not prolong that")
  func holdWithAgent() {
    var session = live()
    session.linkLost("gone", now: start)
    session.agentGreeted(session: 0, epoch: 0)
    #expect(!session.isExpired(now: start + .milliseconds(29_999)))
    #expect(session.isExpired(now: start + .seconds(30)))
    session.keyframeArrived()
    #expect(!session.isExpired(now: start + .seconds(30)))
    session.linkLost("gone", now: start + .seconds(40))
    #expect(!session.isExpired(now: start + .milliseconds(69_999)))
  }

  @Test("why an agent is gone is not said of the next one")
  func staleCause() {
    var session = Session(id: 7, hold: nil)
    session.explain("something it needs is missing")
    session.agentGreeted(session: 0, epoch: 0)
    #expect(session.state == .starting && session.text.isEmpty)
    session.keyframeArrived()
    session.linkLost("gone", now: start)
    session.agentGreeted(session: 0, epoch: 0)
    session.explain("killed by SIGKILL")
    #expect(session.state == .interrupted)
    #expect(session.text == "the next agent has shown no picture yet")
  }

  @Test("pause and resume change a live session only")
  func paused() {
    var session = live()
    session.paused(.signal)
    #expect(session.state == .paused)
    session.linkLost("gone", now: start)
    #expect(session.state == .interrupted)
    session.resumed()
    #expect(session.state == .interrupted)
    session.agentGreeted(session: 0, epoch: 0)
    session.keyframeArrived()
    session.paused(.signal)
    session.resumed()
    #expect(session.state == .live)
  }
}

@Suite struct PauseTests {
  private let start = Moment.now

  @Test("a wanted pause holds at once, and no agent's word ends it")
  func wanted() {
    var session = live()
    session.wantPause()
    #expect(session.state == .paused)
    session.paused(.control)
    session.resumed()
    #expect(session.state == .paused)
    session.wantResume()
    #expect(session.state == .live)
  }

  @Test("the words follow what holds, of an agent and of whoever controls")
  func reasons() {
    var session = live()
    session.paused(.locked)
    #expect(session.state == .paused && session.text == "the session is locked")
    session.wantPause()
    session.paused([.locked, .control])
    #expect(session.text == "the session is locked")
    session.paused(.control)
    #expect(session.state == .paused && session.text.isEmpty)
    session.wantResume()
    #expect(session.state == .paused, "until the agent has said that it goes on")
    session.resumed()
    #expect(session.state == .live && session.text.isEmpty)
  }

  @Test(
    "a wanted pause outlives its agent: the next one's word ends the interruption, not the pause")
  func outlives() {
    var session = live()
    session.wantPause()
    session.linkLost("gone", now: start)
    #expect(session.state == .interrupted)
    session.agentGreeted(session: 0, epoch: 0)
    #expect(session.state == .interrupted)
    session.paused(.control)
    #expect(session.state == .paused && session.text.isEmpty)
    session.wantResume()
    #expect(session.state == .paused)
    session.resumed()
    #expect(session.state == .live)
  }

  @Test("an agent's own pause outlives it, and is the next one's to end")
  func handedOver() {
    var session = live()
    session.paused(.person)
    session.linkLost("gone", now: start)
    session.agentGreeted(session: 0, epoch: 0)
    #expect(session.isPaused && session.pauseReasons == .person)
    session.keyframeArrived()
    #expect(session.state == .paused, "no picture passes before its word")
    session.resumed()
    #expect(session.state == .live)
  }

  @Test("an agent that is back says by itself whether it is still paused")
  func isBack() {
    var session = live()
    session.paused(.locked)
    session.linkLost("gone", now: start)
    session.agentGreeted(session: 7, epoch: 1, isSame: true)
    #expect(!session.isPaused)
  }

  @Test("a resume holds though the agent dies before it has answered, or while there is none")
  func resumedWhileGone() {
    for isAnswered in [false, true] {
      var session = live()
      session.paused(.person)
      if isAnswered { session.linkLost("gone", now: start) }
      session.wantResume()
      if !isAnswered { session.linkLost("gone", now: start) }
      session.agentGreeted(session: 0, epoch: 0)
      #expect(!session.isPaused)
    }
  }

  // The agent's word of a pause that was over already made the state go back and forth.
  @Test("a pause that is over at once is over, though the agent's word of it comes later")
  func quick() {
    var session = live()
    for _ in 1...2 {
      session.wantPause()
      session.wantResume()
      #expect(session.state == .live)
    }
    for _ in 1...2 {
      session.paused(.control)
      #expect(session.state == .live)
      session.resumed()
      #expect(session.state == .live)
    }
    session.paused(.locked)
    #expect(session.state == .paused, "what it says behind that is new")
    session.wantPause()
    session.wantResume()
    session.resumed()
    #expect(session.state == .live)
  }

  @Test("an agent that begins paused makes no picture wait: paused, then starting, then live")
  func beginsPaused() {
    var session = Session(id: 7, hold: .seconds(30))
    session.agentGreeted(session: 0, epoch: 0)
    session.paused(.locked)
    #expect(session.state == .paused && session.text == "the session is locked")
    session.resumed()
    #expect(session.state == .starting)
    session.keyframeArrived()
    #expect(session.state == .live)
    var other = Session(id: 7, hold: .seconds(30))
    other.agentGreeted(session: 0, epoch: 0)
    other.paused(.locked)
    other.linkLost("gone", now: start)
    #expect(other.state == .waiting)
  }
}

@Suite struct LinkPulseTests {
  private let start = Moment.now

  @Test("silence is stalled after 3 s and given up after 5 s, not a millisecond earlier")
  func silence() {
    var pulse = LinkPulse(now: start - .seconds(60))
    pulse.heard(now: start)
    let verdicts = [2999, 3000, 4999, 5000].map { pulse.verdict(now: start + .milliseconds($0)) }
    #expect(verdicts == [.alive, .stalled, .stalled, .silent])
    pulse.heard(now: start + .seconds(4))
    #expect(pulse.verdict(now: start + .milliseconds(6999)) == .alive)
  }

  @Test("a heartbeat is owed one second after the last word")
  func heartbeat() {
    var pulse = LinkPulse(now: start)
    let owed = [999, 1000].map { pulse.owesHeartbeat(now: start + .milliseconds($0)) }
    #expect(owed == [false, true])
    pulse.said(now: start + .seconds(1))
    #expect(!pulse.owesHeartbeat(now: start + .milliseconds(1999)))
  }

  @Test("what is not live is said again one second after the last word")
  func keepAlive() {
    var keepAlive = KeepAlive()
    keepAlive.spoke(now: start)
    var due = [999, 1000, 1001, 1999, 2000].map {
      keepAlive.isDue(now: start + .milliseconds($0))
    }
    #expect(due == [false, true, false, false, true])
    keepAlive.spoke(now: start + .milliseconds(2500))
    due = [3000, 3499, 3500].map { keepAlive.isDue(now: start + .milliseconds($0)) }
    #expect(due == [false, false, true])
  }
}

@Suite struct OutputClockTests {
  private let start = Moment.now
  private let frame = Duration.milliseconds(33)
  private let millisecond: Int64 = 1_000_000

  private func at(_ milliseconds: Int) -> Moment { start + .milliseconds(milliseconds) }

  @Test("PTS that go on stay as they are, across agents too")
  func unchanged() {
    var clock = OutputClock()
    for time in [1000, 1033, 1066, 3000] {
      let stamp = clock.stamp(
        Int64(time) * millisecond, stream: 1, frame: frame, now: at(time))
      #expect(stamp == .init(pts: Int64(time) * millisecond, isDiscontinuous: false))
    }
  }

  @Test("a clock that starts over is rebased on the time that passed")
  func rebased() {
    var clock = OutputClock()
    _ = clock.stamp(50_000 * millisecond, stream: 1, frame: frame, now: at(0))
    let next = clock.stamp(0, stream: 1, frame: frame, now: at(2000))
    #expect(next == .init(pts: 52_000 * millisecond, isDiscontinuous: true))
    let after = clock.stamp(33 * millisecond, stream: 1, frame: frame, now: at(2033))
    #expect(after == .init(pts: 52_033 * millisecond, isDiscontinuous: false))
  }

  @Test("a resume at once goes on by one frame")
  func oneFrame() {
    var clock = OutputClock()
    _ = clock.stamp(50_000 * millisecond, stream: 1, frame: frame, now: at(0))
    #expect(clock.stamp(0, stream: 1, frame: frame, now: at(1)).pts == 50_033 * millisecond)
  }

  @Test("whatever an agent sends, PTS rise and nothing traps")
  func hostile() {
    var clock = OutputClock()
    var last = Int64.min
    let hostile: [Int64] = [
      .max, .min, 0, .max, -1, .max - 1, .min + 1, 5, 5, 4, 1 << 62, -(1 << 62),
    ]
    for (index, pts) in hostile.enumerated() {
      let stamp = clock.stamp(pts, stream: 1, frame: frame, now: at(index))
      #expect(stamp.pts > last)
      last = stamp.pts
    }
  }

  @Test("streams share the clock and each rises by itself")
  func twoStreams() {
    var clock = OutputClock()
    _ = clock.stamp(1000 * millisecond, stream: 1, frame: frame, now: at(0))
    let sound = clock.stamp(990 * millisecond, stream: 2, frame: .milliseconds(20), now: at(1))
    #expect(sound == .init(pts: 990 * millisecond, isDiscontinuous: false))
  }
}
