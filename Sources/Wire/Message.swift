/// Everything that is said on a link or to a consumer, apart from packets: those stay bytes, since
/// nobody between encoder and player looks into them.
package enum Message: Equatable, Sendable {
  case greeting(Greeting)
  /// This connection is not wanted; it is closed next. Code 2 bytes, then the text.
  case refusal(FinishCode, String)
  /// Sender's time and the time last heard from the peer, nanoseconds of CLOCK_MONOTONIC, each of
  /// its own machine; 0 where nothing was heard.
  case heartbeat(time: UInt64, echo: UInt64)
  case finished(FinishCode, String)
  case started(Setup)
  case streamDescription(stream: UInt32, StreamDescription)
  /// No packet follows before `resumed`; said again when the reasons change.
  case paused(PauseReasons)
  /// The next picture is a keyframe.
  case resumed
  case figures(AgentFigures)
  /// Memory got scarce, or is not any more; the text says how much.
  case memoryStep(MemoryStep, String)
  /// A sound begins, ends, or is lost while it is wanted; the text says why.
  case sourceState(StreamDescription.Source, SourceState, String)
  case sessionState(SessionState, session: UInt64, epoch: UInt32, String)
  case keyframeRequest(stream: UInt32)
  /// To be paused for these reasons too: the relay's, and those of an agent that is gone.
  case pause(PauseReasons)
  /// All reasons end.
  case resume
  case finish(String)
  /// Bits a second of one stream.
  case bitrate(stream: UInt32, UInt32)
  case sound(StreamDescription.Source, isOn: Bool)
  /// How many packets of this link have been taken since it began.
  case acknowledgement(packets: UInt64)
  /// How many read, and how many of them hold pictures back (containers).
  case audience(readers: UInt32, containers: UInt32)

  /// What is being broadcast: the first message behind the greeting.
  package struct Setup: Equatable, Sendable {
    package var name: String
    package var source: String
    /// libva's vendor string, so that nobody takes software for hardware.
    package var driver: String
    package init(name: String, source: String, driver: String) {
      self.name = name
      self.source = source
      self.driver = driver
    }
  }

  package var kind: MessageKind {
    switch self {
    case .greeting: .greeting
    case .refusal: .refusal
    case .heartbeat: .heartbeat
    case .finished: .finished
    case .started: .started
    case .streamDescription: .streamDescription
    case .paused: .paused
    case .resumed: .resumed
    case .figures: .figures
    case .memoryStep: .memoryStep
    case .sourceState: .sourceState
    case .sessionState: .sessionState
    case .keyframeRequest: .keyframeRequest
    case .pause: .pause
    case .resume: .resume
    case .finish: .finish
    case .bitrate: .bitrate
    case .sound: .sound
    case .acknowledgement: .acknowledgement
    case .audience: .audience
    }
  }
}
