import Posix
import Report
import Wire

/// The session with its streams: what agents say goes in, what consumers read comes out.
///
/// The one place where PTS are rebased and where it is decided that a picture may pass.
final class Broadcast {
  private(set) var session: Session
  private(set) var setup: Message.Setup?
  private(set) var descriptions: [UInt32: StreamDescription] = [:]
  private(set) var figures: AgentFigures?
  /// How sounds, screen and camera stand, as far as the agent has spoken of them.
  private(set) var sourceStates: [StreamDescription.Source: (state: SourceState, text: String)] =
    [:]
  private(set) var memory = Memory()
  private(set) var counts = Counts()
  private(set) var requests = KeyframeRequests()
  /// How the last session ended; nil before.
  private(set) var lastFinish: (code: FinishCode, text: String)?

  let outputs: BroadcastOutputs
  /// Sends to the agent, if there is one.
  var tell: ((Message) -> Void)? {
    didSet { outputs.camera.tell = tell }
  }
  /// Whether an agent that is lost again is nothing new for the log.
  var isRepeating: () -> Bool = { false }
  /// The first picture of an agent has come.
  var delivered: (() -> Void)?
  /// A session is over; called before the next one waits.
  var finished: ((FinishCode, String) -> Void)?
  /// What is said of a session that waits.
  var waitingText = "" {
    didSet { explain(waitingText) }
  }
  /// Whether an agent that is still there after a session's end begins the next one.
  var beginsAgain = true

  private let hold: Duration?
  private var isFinishTold = false
  /// Which agent was here last, and which one went while it was to go on: it may come back paused.
  private var lastInstance: UInt64?
  private var resumeOwed: UInt64?
  /// Sessions that are over: an agent that was away may still name one.
  private var ended: [UInt64] = []
  private var announced: Message?
  /// What the log has of the session.
  private var logged: (id: UInt64, state: SessionState)?
  private var keepAlive = KeepAlive()
  /// Bits a second that whoever controls the broadcast wants; nil: as the agent thinks fit.
  private var wantedBitrate: Int?
  /// Sounds that whoever controls the broadcast has switched; the others are the agent's affair.
  private var wantedSounds: [StreamDescription.Source: Bool] = [:]
  private var clock = OutputClock()
  /// Streams of this link that have shown a keyframe; before it no picture passes.
  private var startedStreams: Set<UInt32> = []

  init(hold: Duration?) throws(MuxerError) {
    self.hold = hold
    session = Session(hold: hold)
    outputs = try BroadcastOutputs()
    for stream in outputs.screenStreams {
      stream.requestKeyframe = { [weak self] in
        self?.askForKeyframe($0, isServed: $1) ?? false
      }
    }
  }

  func agentGreeted(_ greeting: Greeting) {
    let isOver = ended.contains(greeting.session)
    session.agentGreeted(
      session: isOver ? 0 : greeting.session, epoch: isOver ? 0 : greeting.epoch,
      isSame: greeting.instance == lastInstance)
    lastInstance = greeting.instance
    startedStreams = []
    requests.restart()
    outputs.camera.restart()
    if resumeOwed != greeting.instance { resumeOwed = nil }
    if session.isPaused { tell?(.pause(session.pauseReasons)) }
    tellBitrate()
    for (source, isOn) in wantedSounds { tell?(.sound(source, isOn: isOn)) }
    announceState()
    tellAudience()
  }

  func take(_ message: Message) {
    switch message {
    case .started(let setup):
      self.setup = setup
      sourceStates[.screen] = nil
      put(message)
    case .streamDescription(let number, let description):
      guard descriptions[number] != nil || descriptions.count < Self.streamLimit else { return }
      descriptions[number] = description
      if description.codec == .h264 {
        startedStreams.remove(number)
        if description.source == .camera {
          outputs.camera.described(as: number)
          outputs.packets.forgetCameraCache()
        } else {
          outputs.packets.forgetCache()
        }
      } else {
        let sounds = descriptions.values.filter { $0.codec == .opus }.map(\.source)
          .sorted { $0.rawValue < $1.rawValue }
        if sounds != outputs.sounds {
          outputs.sounds = sounds
          askForKeyframe(.resume)
        }
      }
      put(message)
    case .sourceState(let source, let state, let text):
      let isOld = sourceStates[source].map { $0 == (state, text) } ?? false
      sourceStates[source] = (state, text)
      if state != .on { outputs.container.stop(source) }
      let reason = text.isEmpty ? "" : ": \(text)"
      let isSound = source != .camera && source != .screen
      // Each of the agents that are tried says so again.
      if !isOld || !isRepeating() {
        Log.note("\(source.word)\(isSound ? " sound" : "") \(state.word)\(reason)")
      }
      put(message)
    case .paused(let reasons):
      session.paused(reasons)
      startedStreams = []
      put(message)
      announceState()
      if resumeOwed == lastInstance { resume() }
    case .resumed:
      session.resumed()
      put(message)
      announceState()
    case .figures(let figures):
      self.figures = figures
      // An agent that comes back says before this that it is paused.
      resumeOwed = nil
    case .memoryStep(let step, let text):
      memory.step = step
      memory.text = text
      memory.changes += 1
      Log.note("agent's memory: \(step.word): \(text)")
    default: break
    }
  }

  func take(_ raw: RawMessage) {
    let now = Moment.now
    let number = raw.header.stream
    let isKeyframe = raw.header.flags.contains(.keyframe)
    guard let description = descriptions[number], !raw.payload.isEmpty else {
      counts.withheld += 1
      return
    }
    // An agent that was told of a pause, or of the end, may still have sent some more.
    guard !session.isPaused, session.state != .waiting else {
      counts.withheld += 1
      return
    }
    let isSound = description.codec == .opus
    let isCamera = number == outputs.camera.number
    if isKeyframe { startedStreams.insert(number) }
    guard isSound || startedStreams.contains(number) else {
      // An agent that this relay took over goes on in the middle.
      counts.withheld += 1
      askForKeyframe(of: number, .resume)
      return
    }
    count(raw, isKeyframe: isKeyframe, now: now)
    let stamp = clock.stamp(
      raw.header.pts, stream: number, frame: description.frameInterval, now: now)
    if stamp.isDiscontinuous { counts.discontinuities += 1 }
    let kind: Packet.Kind
    if isSound {
      kind = .sound
    } else if isCamera {
      kind = isKeyframe ? .cameraKeyframe : .cameraPicture
    } else {
      kind = isKeyframe ? .keyframe : .picture
    }
    outputs.put(raw, kind, of: description, stamp: stamp, now: now)
    guard isKeyframe else { return }
    if isCamera { outputs.camera.keyframePassed() } else { keyframePassed() }
  }

  func linkLost(_ end: LinkEnd) {
    figures = nil
    memory.step = .rest
    if session.isResumeAwaited { resumeOwed = lastInstance }
    if case .finished(let code, let text) = end, end.endsBroadcast {
      // A session that waits has been finished already, and the agent is late.
      if session.state != .waiting { finish(code, text) }
    } else {
      // An agent that is lost again is an event of its own.
      if session.state == .interrupted { logged = nil }
      session.linkLost("\(end)", now: .now)
      if case .finished(.sourceEnded, let text) = end { session.sourceEnded(text) }
      // Why an agent finished is logged once, with its end.
      let isToldLater = if case .finished = end { true } else { false }
      announceState(withReason: !isToldLater)
    }
  }

  /// Why the agent is gone, or why none comes, as it becomes known; whoever knows it has logged it.
  func explain(_ words: String) {
    session.explain(words)
    announceState(withReason: false)
  }

  /// What a consumer reads before its first packet.
  var preface: [Message] {
    var messages = [stateMessage]
    if let setup { messages.append(.started(setup)) }
    for (number, description) in descriptions.sorted(by: { $0.key < $1.key }) {
      messages.append(.streamDescription(stream: number, description))
    }
    for (source, how) in sourceStates.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      messages.append(.sourceState(source, how.state, how.text))
    }
    return messages
  }

  /// Of the stream that has this number, where that is the camera's; else of the screen.
  func askForKeyframe(of stream: UInt32, _ reason: KeyframeRequests.Reason) {
    if stream == outputs.camera.number {
      outputs.camera.askForKeyframe(reason)
    } else {
      askForKeyframe(reason)
    }
  }

  /// Says whether one is to be expected soon.
  @discardableResult
  func askForKeyframe(_ reason: KeyframeRequests.Reason, isServed: Bool = false) -> Bool {
    let now = Moment.now
    requests.ask(reason, isServed: isServed, now: now)
    passKeyframeRequest(now: now)
    return requests.isExpected(now: now)
  }

  /// Holds the pictures of this broadcast back, whatever agents come and go, until `resume`.
  func pause() {
    session.wantPause()
    startedStreams = []
    resumeOwed = nil
    tell?(.pause(.control))
    announceState()
  }

  /// Goes on, at a keyframe, whatever the reason of the pause.
  func resume() {
    session.wantResume()
    resumeOwed = session.hasAgent ? nil : lastInstance
    tell?(.resume)
    announceState()
  }

  /// Switches a sound on or off, also of the agents after this one.
  func setSound(_ source: StreamDescription.Source, isOn: Bool) {
    wantedSounds[source] = isOn
    tell?(.sound(source, isOn: isOn))
  }

  /// Asks this agent, and those after it, for so many bits a second.
  func setBitrate(_ rate: Int) {
    wantedBitrate = rate
    tellBitrate()
  }

  func tellAudience() {
    let audience = outputs.audience
    tell?(
      .audience(readers: UInt32(audience.readers), containers: UInt32(audience.containers)))
  }

  func tick(now: Moment) {
    outputs.tick(now: now)
    passKeyframeRequest(now: now)
    if session.state != .live, keepAlive.isDue(now: now) { put(stateMessage) }
    if session.isExpired(now: now) { expire() }
  }

  /// Ends this session for every consumer; unless `forGood`, a new one waits under a new id.
  func finish(_ code: FinishCode, _ text: String, forGood: Bool = false) {
    // An agent says that it ends, and then its exit code says so once more.
    if session.epoch == 0, isFinishTold, let lastFinish, lastFinish == (code, text) { return }
    lastFinish = (code, text)
    isFinishTold = true
    if code == .finished {
      session.finish(text)
    } else {
      session.finish(text.isEmpty ? code.word : "\(code.word): \(text)")
    }
    announceState()
    put(.finished(code, text))
    outputs.finish()
    setup = nil
    descriptions = [:]
    sourceStates = [:]
    wantedBitrate = nil
    wantedSounds = [:]
    resumeOwed = nil
    guard !forGood else { return }
    ended = ended.suffix(Self.endedLimit - 1) + [session.id]
    finished?(code, text)
    session = Session(hold: hold)
    session.explain(waitingText)
    announceState()
  }

  /// Somebody has started another one, whose end is told even if it is like the last.
  func begin() { isFinishTold = false }

  /// The agent of a session that is over has left.
  func agentLeft() {
    figures = nil
    memory.step = .rest
  }

  /// The session was held for as long as it may be. An agent that is linked, and still has shown
  /// nothing, begins the next one with what it has said of itself.
  private func expire() {
    let (former, setup, descriptions) = (session, setup, descriptions)
    if let end = session.sourceEnd {
      finish(.sourceEnded, "\(end), and has not come back")
    } else {
      finish(.agentLost, session.text)
    }
    guard former.hasAgent, beginsAgain else { return }
    session.agentGreeted(session: 0, epoch: 0)
    session.keepPause(of: former)
    (self.setup, self.descriptions) = (setup, descriptions)
    if let number = descriptions.first(where: { $0.value.source == .camera })?.key {
      outputs.camera.described(as: number)
    }
    announceState()
    for message in preface.dropFirst() { put(message) }
  }

  /// Agents come back within minutes, if at all.
  private static let endedLimit = 16
  /// Streams that one agent may have; the design knows four.
  private static let streamLimit = 8

  private func count(_ raw: RawMessage, isKeyframe: Bool, now: Moment) {
    counts.packets += 1
    counts.keyframes += isKeyframe ? 1 : 0
    counts.bytes += raw.bytes.count
    counts.lastPacket = now
  }

  private func keyframePassed() {
    requests.satisfied()
    delivered?()
    let before = session.state
    session.keyframeArrived()
    if session.state != before { announceState() }
  }

  private func passKeyframeRequest(now: Moment) {
    guard let tell, requests.pass(now: now) else { return }
    tell(.keyframeRequest(stream: video))
  }

  private func tellBitrate() {
    if let wantedBitrate { tell?(.bitrate(stream: video, UInt32(wantedBitrate))) }
  }

  /// The first stream of pictures; 0 before it is described.
  private var video: UInt32 {
    descriptions.filter { $0.value.codec == .h264 && $0.value.source != .camera }.keys.min() ?? 0
  }

  private var stateMessage: Message {
    .sessionState(session.state, session: session.id, epoch: session.epoch, session.text)
  }

  /// Tells every consumer, when there is something new to tell. The log gets states only: what
  /// explains one later is written where it becomes known.
  private func announceState(withReason: Bool = true) {
    let message = stateMessage
    guard message != announced else { return }
    announced = message
    keepAlive.spoke(now: .now)
    outputs.isSuspended = session.state == .interrupted || session.state == .paused
    logState(withReason: withReason)
    put(message)
  }

  private func logState(withReason: Bool) {
    if let logged, logged == (session.id, session.state) { return }
    if isRepeating(), session.state != .live, session.state != .finished { return }
    logged = (session.id, session.state)
    let reason = session.text.isEmpty || !withReason ? "" : ": \(session.text)"
    Log.note("session \(session.name): \(session.state.word)\(reason)")
  }

  private func put(_ message: Message) { outputs.put(message) }
}
