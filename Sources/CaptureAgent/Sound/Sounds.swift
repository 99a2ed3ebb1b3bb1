import PipeWire
import Posix
import Report
import Wire

/// What is heard beside the screen: application sound and microphone, apart from each other, each on and
/// off at any time. Loop thread only.
final class Sounds {
  /// What the pipeline does with it.
  struct Outlet {
    let send: (Message) -> Void
    /// One Opus packet of a stream; good until the call returns.
    let sendPacket: (_ stream: UInt32, Span<UInt8>, _ pts: Int64, MessageFlags) -> Void
  }

  // A device that vanished is told of within two seconds.
  private static let interval = Duration.milliseconds(250)
  // A daemon that is gone is looked for so often.
  private static let reconnectPause: Int64 = 1_000_000_000

  private let loop: Loop
  private let outlet: Outlet
  private var captures: [SoundCapture] = []
  private var connection: Connection?
  /// What there is to hear is known after one round trip.
  private var isListed = false
  private var isConnectionLost = false
  private var lastAttempt: Int64 = 0
  private var timer: TimerSource?

  init(loop: Loop, wish: SoundWish, outlet: Outlet) throws(PipeWireError) {
    self.loop = loop
    self.outlet = outlet
    timer = try loop.addTimer { [weak self] in self?.tick() }
    captures = [
      (StreamDescription.Source.appSound, wish.application ?? .defaultOutput),
      (.microphone, wish.microphone ?? .defaultMicrophone),
    ].map { source, choice in
      SoundCapture(
        source: source, choice: choice, bitsPerSecond: wish.bitsPerSecond,
        onState: { [weak self] in self?.stateChanged($0) },
        onPacket: { [weak self] in self?.send($0, $1, $2, $3) })
    }
  }

  /// How many are wanted.
  var count: Int { captures.count { $0.isWanted } }

  /// Packets of all so far.
  var packetCount: Int { captures.reduce(0) { $0 + $1.packetCount } }

  /// Switches one on or off; what it is then comes as a message.
  func set(_ source: StreamDescription.Source, isOn: Bool) {
    guard let capture = captures.first(where: { $0.source == source }),
      capture.isWanted != isOn
    else { return }
    if !isOn {
      capture.end()
      if count == 0 { rest() }
      return
    }
    do {
      try capture.begin()
      describe(capture)
      timer?.arm(after: Self.interval, every: Self.interval)
      tick()
    } catch {
      outlet.send(.sourceState(source, .lost, "\(error)"))
    }
  }

  /// Holds packets back, as the pictures are.
  func hold(_ isHeld: Bool) { for capture in captures { capture.isHeld = isHeld } }

  /// Tells a relay that has just come what there is.
  func announce() {
    for capture in captures where capture.isWanted {
      describe(capture)
      outlet.send(.sourceState(capture.source, capture.state, capture.stateText))
    }
  }

  /// Ends them all, in the order their makers need.
  func stop() {
    for capture in captures { capture.end() }
    rest()
  }

  private func rest() {
    timer?.disarm()
    connection = nil
    isListed = false
  }

  private func tick() {
    let now = MonotonicClock.now()
    if isConnectionLost {
      isConnectionLost = false
      for capture in captures { capture.letGo() }
      connection = nil
      isListed = false
    }
    if connection == nil, now - lastAttempt >= Self.reconnectPause {
      lastAttempt = now
      connection = try? Connection(loop: loop, for: .sound)
      // At once, before a session manager has put something else in the place of what is gone.
      connection?.onNodeRemoved = { [weak self] _ in self?.hurry() }
      connection?.onLost = { [weak self] in self?.isConnectionLost = true }
      connection?.roundTrip { [weak self] in
        self?.isListed = true
        self?.hurry()
      }
    }
    guard connection == nil || isListed else { return }
    for capture in captures { capture.tick(now: now, connection: connection) }
  }

  /// Looks again as soon as PipeWire's callback is over.
  private func hurry() { timer?.arm(after: .nanoseconds(1), every: Self.interval) }

  private func describe(_ capture: SoundCapture) {
    outlet.send(
      .streamDescription(
        stream: UInt32(capture.source.rawValue),
        StreamDescription(
          source: capture.source, codec: .opus, codedSize: .init(width: 0, height: 0),
          displaySize: .init(width: 0, height: 0), frameRate: .init(0, 0), codecString: "opus",
          parameterSets: [])))
  }

  private func stateChanged(_ capture: SoundCapture) {
    let text = capture.stateText.isEmpty ? "" : ": \(capture.stateText)"
    Log.note("\(capture.source.word) \(capture.state.word)\(text)")
    outlet.send(.sourceState(capture.source, capture.state, capture.stateText))
  }

  private func send(
    _ capture: SoundCapture, _ packet: Span<UInt8>, _ pts: Int64, _ followsGap: Bool
  ) {
    outlet.sendPacket(
      UInt32(capture.source.rawValue), packet, pts, followsGap ? .discontinuity : [])
  }
}
