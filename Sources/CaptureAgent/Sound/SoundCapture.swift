import PipeWire
import Posix
import Wire

/// One sound of the broadcast: a stream of PipeWire's made into Opus packets, for as long as it is
/// wanted, and found again when it was lost. Loop thread only.
final class SoundCapture {
  /// What it listens to, as a user says it.
  enum Choice: Equatable, Sendable {
    /// What the default output plays.
    case defaultOutput
    /// What one application plays, or one output, by its name or its node's.
    case application(String)
    case defaultMicrophone
    /// A microphone by its name, description or serial.
    case microphone(String)
  }

  // A graph's cycle is some 20 ms, and a device that is woken up takes a part of a second.
  private static let patience: Int64 = 1_500_000_000

  let source: StreamDescription.Source
  private let choice: Choice
  /// Time does not stand still for it while it is held: samples are thrown away.
  var isHeld = false {
    didSet { if isHeld != oldValue { frames.cut() } }
  }
  private(set) var state = SourceState.off
  private(set) var stateText = ""
  private(set) var packetCount = 0

  private let bitsPerSecond: Int
  private let onState: (SoundCapture) -> Void
  private let onPacket:
    (SoundCapture, _ packet: Span<UInt8>, _ pts: Int64, _ followsGap: Bool) -> Void
  private var encoder: SoundEncoder?
  private var frames = SoundFrames(
    pairs: SoundEncoder.framePairs, samplesPerSecond: SoundEncoder.samplesPerSecond)
  private var stream: SoundStream?
  /// When the stream was made, or gave samples last.
  private var lastHeard: Int64 = 0
  private var failure: String?

  init(
    source: StreamDescription.Source, choice: Choice, bitsPerSecond: Int,
    onState: @escaping (SoundCapture) -> Void,
    onPacket: @escaping (SoundCapture, Span<UInt8>, Int64, Bool) -> Void
  ) {
    self.source = source
    self.choice = choice
    self.bitsPerSecond = bitsPerSecond
    self.onState = onState
    self.onPacket = onPacket
  }

  var isWanted: Bool { encoder != nil }

  /// Wants the sound from now on; it comes once `tick` has found it.
  func begin() throws(SoundEncoder.Failure) {
    guard encoder == nil else { return }
    encoder = try SoundEncoder(bitsPerSecond: bitsPerSecond)
    lastHeard = MonotonicClock.now()
  }

  /// Does not want it any more, and gives up what it held.
  func end() {
    letGo()
    encoder = nil
    say(.off, "")
  }

  /// The connection that its stream belongs to is gone, or goes.
  func letGo() {
    stream = nil
    frames.cut()
  }

  /// Several times a second: finds what is to be heard in `connection`, nil where there is none, and says
  /// so when nothing is.
  func tick(now: Int64, connection: Connection?) {
    guard isWanted else { return }
    if let failure {
      letGo()
      self.failure = nil
      say(.lost, failure)
    }
    guard let connection else { return say(.lost, "PipeWire cannot be reached") }
    guard let target = target(in: connection.nodes) else {
      // Before a session manager puts something else in its place: of a sound output, say.
      letGo()
      return say(.lost, missing)
    }
    if stream == nil { open(target, on: connection, now: now) }
    guard stream != nil, now - lastHeard > Self.patience else { return }
    say(.lost, "it gives no samples")
    // Nobody links a stream anew whose target came back.
    letGo()
    lastHeard = now
  }

  private func open(_ target: SoundStream.Target, on connection: Connection, now: Int64) {
    do throws(PipeWireError) {
      let stream = try SoundStream(
        connection: connection, name: "porthole-\(source == .microphone ? "microphone" : "sound")",
        observer: self)
      self.stream = stream
      if state != .on { lastHeard = now }
      try stream.connect(to: target)
    } catch {
      letGo()
      say(.lost, "\(error)")
    }
  }

  private func target(in nodes: [Connection.Node]) -> SoundStream.Target? {
    func find(_ word: String, _ mediaClasses: [String]) -> Connection.Node? {
      let candidates = nodes.filter { $0.mediaClass.map(mediaClasses.contains) ?? false }
      return candidates.first { $0.name == word || $0.serial == word }
        ?? candidates.first { $0.title == word }
    }
    return switch choice {
    case .defaultOutput:
      nodes.contains { $0.mediaClass.map(Self.outputs.contains) ?? false } ? .defaultSink : nil
    case .defaultMicrophone:
      nodes.contains { $0.mediaClass.map(Self.microphones.contains) ?? false }
        ? .defaultSource : nil
    case .application(let word):
      find(word, Self.applications).map { .node($0) } ?? find(word, Self.outputs).map { .sink($0) }
    case .microphone(let word): find(word, Self.microphones).map { .node($0) }
    }
  }

  static let outputs = ["Audio/Sink", "Audio/Duplex"]
  static let applications = ["Stream/Output/Audio"]
  static let microphones = ["Audio/Source", "Audio/Source/Virtual", "Audio/Duplex"]

  private var missing: String {
    switch choice {
    case .defaultOutput: "there is no output device"
    case .defaultMicrophone: "there is no microphone"
    case .application(let name): "\(name) plays nothing"
    case .microphone(let name): "the microphone \(name) is not there"
    }
  }

  private func say(_ state: SourceState, _ text: String) {
    guard state != self.state || text != stateText else { return }
    self.state = state
    stateText = text
    onState(self)
  }
}

extension SoundCapture: SoundObserver {
  func soundTook(_ samples: Span<Float>, at time: Int64) {
    lastHeard = MonotonicClock.now()
    if state != .on { say(.on, "") }
    guard let encoder, !isHeld else { return }
    frames.take(samples, at: time) { frame, time, followsGap in
      if followsGap { encoder.restart() }
      // A frame that libopus refuses is a gap of 20 ms.
      try? encoder.encode(frame) { packet in
        packetCount += 1
        onPacket(self, packet, time - encoder.delay, followsGap)
      }
    }
  }

  func soundFailed(_ text: String) { failure = text }
}
