import Wire

/// One broadcast as the relay keeps it, across agents and links. No I/O and no clock of its own.
///
///     waiting -> starting -> live <-> paused      live -> interrupted -> live
///     any -> finished, after which a new session waits
struct Session: Equatable {
  private(set) var id: UInt64
  /// Which agent this is, counted from 1; 0 before the first.
  private(set) var epoch: UInt32 = 0
  private(set) var state: SessionState = .waiting
  /// Why it is interrupted, for people; empty otherwise.
  private(set) var text = ""

  /// How long it is kept without an agent; nil: for ever.
  private let hold: Duration?
  /// Since when there has been no picture of a broadcast that had one.
  private var lostAt: Moment?
  private(set) var hasAgent = false
  /// What whoever controls the broadcast wants; no agent that comes changes it.
  private(set) var isPauseWanted = false
  /// What the agent says.
  private var isAgentPaused = false

  init(id: UInt64 = .random(in: 1 ... .max), hold: Duration?) {
    self.id = id
    self.hold = hold
  }

  /// The epoch that the next new agent would have.
  var nextEpoch: UInt32 { epoch == .max ? 1 : epoch + 1 }

  /// An agent greeted. A relay that was started anew takes over the session that the agent still
  /// carries; an agent that carries none, or another one, is the next of ours.
  mutating func agentGreeted(session: UInt64, epoch: UInt32) {
    if state == .waiting, self.epoch == 0, session != 0 {
      id = session
      self.epoch = max(epoch, 1)
    } else if session == id, epoch >= nextEpoch || epoch == self.epoch {
      self.epoch = max(epoch, 1)
    } else {
      self.epoch = nextEpoch
    }
    hasAgent = true
    isAgentPaused = false
    if state == .waiting { state = .starting }
    // Why the one before it is gone holds no longer.
    text = state == .interrupted ? Self.noPictureYet : ""
  }

  /// A keyframe came: there is a picture.
  mutating func keyframeArrived() {
    guard state == .starting || state == .interrupted else { return }
    state = isPaused ? .paused : .live
    lostAt = nil
    text = ""
  }

  /// The agent has paused.
  mutating func paused() {
    isAgentPaused = true
    applyPause()
  }

  /// The agent goes on.
  mutating func resumed() {
    isAgentPaused = false
    applyPause()
  }

  /// Whoever controls the broadcast wants a pause, or no longer.
  mutating func wantPause(_ isWanted: Bool) {
    isPauseWanted = isWanted
    applyPause()
  }

  private var isPaused: Bool { isAgentPaused || isPauseWanted }

  /// A new agent of a paused broadcast shows nothing, so its word is enough to end an interruption.
  private mutating func applyPause() {
    switch state {
    case .live where isPaused: state = .paused
    case .paused where !isPaused: state = .live
    case .interrupted where isAgentPaused && hasAgent:
      state = .paused
      lostAt = nil
      text = ""
    default: break
    }
  }

  private static let noPictureYet = "the next agent has shown no picture yet"

  /// The link is gone; one that never showed a picture leaves nothing to hold.
  mutating func linkLost(_ cause: String, now: Moment) {
    hasAgent = false
    switch state {
    case .live, .paused, .interrupted:
      state = .interrupted
      if lostAt == nil { lostAt = now }
    case .starting: state = .waiting
    case .waiting, .finished: break
    }
    text = cause
  }

  /// A better word for why it is interrupted, when one is found before another agent comes.
  mutating func explain(_ cause: String) {
    if !hasAgent, state == .interrupted || state == .waiting { text = cause }
  }

  mutating func finish(_ text: String) {
    state = .finished
    self.text = text
  }

  /// Whether it has been held without a picture for as long as it may, agent or not.
  func isExpired(now: Moment) -> Bool {
    guard state == .interrupted, let lostAt, let hold else { return false }
    return now - lostAt >= hold
  }
}
