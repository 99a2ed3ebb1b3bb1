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
  /// Why it is paused or interrupted, for people; empty where there is nothing to say.
  private(set) var text = ""

  /// The agent's words of a screen that went away, until there is a picture again.
  private(set) var sourceEnd: String?

  /// How long it is kept without an agent; nil: for ever.
  private let hold: Duration?
  /// Since when there has been no picture of a broadcast that had one.
  private var lostAt: Moment?
  private(set) var hasAgent = false
  /// What whoever controls the broadcast wants; no agent that comes changes it.
  private(set) var isPauseWanted = false
  /// Why the agent is paused, in its own words; those of an agent that is gone hold until the next one
  /// has said its own.
  private(set) var agentReasons: PauseReasons = []
  /// The agent was told of a pause, and of no end of it yet.
  private var isPauseTold = false
  /// How often the agent was told to go on and has not answered; what it says of pauses before that is old.
  private var awaitedResumes = 0
  /// Whether it has ever had a picture.
  private var hasShown = false

  init(id: UInt64 = .random(in: 1 ... .max), hold: Duration?) {
    self.id = id
    self.hold = hold
  }

  /// The epoch that the next new agent would have.
  var nextEpoch: UInt32 { epoch == .max ? 1 : epoch + 1 }

  /// An agent greeted. A relay that was started anew takes over the session that the agent still
  /// carries; an agent that carries none, or another one, is the next of ours. `isSame`: it is the one
  /// before, and says by itself whether it is still paused.
  mutating func agentGreeted(session: UInt64, epoch: UInt32, isSame: Bool = false) {
    if state == .waiting, self.epoch == 0, session != 0 {
      id = session
      self.epoch = max(epoch, 1)
    } else if session == id, epoch >= nextEpoch || epoch == self.epoch {
      self.epoch = max(epoch, 1)
    } else {
      self.epoch = nextEpoch
    }
    hasAgent = true
    if isSame { agentReasons = [] }
    isPauseTold = isPaused
    if state == .waiting { state = .starting }
    // Why the one before it is gone holds no longer.
    text = state == .interrupted ? Self.noPictureYet : ""
  }

  /// A keyframe came: there is a picture.
  mutating func keyframeArrived() {
    guard state == .starting || state == .interrupted else { return }
    hasShown = true
    sourceEnd = nil
    state = isPaused ? .paused : .live
    lostAt = nil
    text = pauseText
  }

  /// The agent is paused, or for other reasons than before.
  mutating func paused(_ reasons: PauseReasons) {
    guard awaitedResumes == 0 else { return }
    agentReasons = reasons
    applyPause()
  }

  /// The agent goes on.
  mutating func resumed() {
    agentReasons = []
    awaitedResumes = max(0, awaitedResumes - 1)
    applyPause()
  }

  /// Whoever controls the broadcast wants a pause.
  mutating func wantPause() {
    isPauseWanted = true
    isPauseTold = hasAgent
    applyPause()
  }

  /// Whoever controls the broadcast wants it to go on, whatever the reason of its pause; an agent's own
  /// reasons end when it says so, or with it.
  mutating func wantResume() {
    isPauseWanted = false
    // An agent answers if it was paused.
    if hasAgent, isPauseTold || !agentReasons.isEmpty { awaitedResumes += 1 }
    isPauseTold = false
    if !hasAgent { agentReasons = [] }
    applyPause()
  }

  /// Goes on with the pause of the session before it.
  mutating func keepPause(of former: Session) {
    isPauseWanted = former.isPauseWanted
    agentReasons = former.agentReasons
    applyPause()
  }

  /// Whether the agent was told to go on and has not answered.
  var isResumeAwaited: Bool { awaitedResumes > 0 }

  /// No picture passes.
  var isPaused: Bool { !pauseReasons.isEmpty }

  /// What a new agent is to be paused for.
  var pauseReasons: PauseReasons { isPauseWanted ? agentReasons.union(.control) : agentReasons }

  private var pauseText: String { pauseReasons.text }

  /// A new agent of a paused broadcast shows nothing, so its word is enough to begin, or to end an
  /// interruption.
  private mutating func applyPause() {
    switch state {
    case .live where isPaused: state = .paused
    case .paused where !isPaused: state = hasShown ? .live : .starting
    case .interrupted where !agentReasons.isEmpty && hasAgent,
      .starting where !agentReasons.isEmpty:
      state = .paused
      lostAt = nil
    default: break
    }
    if state == .paused || state == .live { text = pauseText }
  }

  private static let noPictureYet = "the next agent has shown no picture yet"

  /// The link is gone; one that never showed a picture leaves nothing to hold.
  mutating func linkLost(_ cause: String, now: Moment) {
    hasAgent = false
    if isResumeAwaited { agentReasons = [] }
    awaitedResumes = 0
    switch state {
    case .paused where !hasShown: state = .waiting
    case .live, .paused, .interrupted:
      state = .interrupted
      if lostAt == nil { lostAt = now }
    case .starting: state = .waiting
    case .waiting, .finished: break
    }
    text = cause
  }

  /// What it showed has gone away, and the agent with it.
  mutating func sourceEnded(_ text: String) {
    if state == .interrupted { sourceEnd = text }
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

extension Session {
  /// The id as logs and the status write it.
  var name: String { SessionName.of(id) }
}
