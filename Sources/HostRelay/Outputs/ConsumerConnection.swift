import Posix
import Wire

/// One program on the consumers' port: greeting, then the session's messages and packets.
final class ConsumerConnection {
  /// Called once, when the consumer may watch; the answer is what it reads first.
  var greeted: (() -> [Message])?
  /// Called right after: the time for its reader to join the stream.
  var joins: (() -> Void)?
  var wantsKeyframe: (() -> Void)?
  /// Called once, at the end.
  var ended: ((ConsumerEnd) -> Void)?

  let reader: Reader
  private(set) var isGreeted = false

  private let visitor: Visitor
  private let viewerKey: AccessKey
  private let stream: TCPStream
  private let begin: Moment
  private var decoder = MessageDecoder(payloadLimit: WireLimits.greetingPayload)
  private var progress: ProgressWatch
  private var lastSent: Moment
  private var isSending = false

  init(
    _ socket: consuming OwnedFD, name: String, visitor: Visitor, viewerKey: AccessKey,
    loop: EventLoop, now: Moment
  ) throws {
    reader = Reader(name: name)
    self.visitor = visitor
    self.viewerKey = viewerKey
    begin = now
    lastSent = now
    progress = ProgressWatch(now: now)
    try TCPSocket.tune(
      socket.raw, silence: RelayLimits.userTimeout, unsent: RelayLimits.notSentBytes)
    stream = try TCPStream(on: loop, inputBytes: 4096)
    do { try stream.open(socket) } catch {
      stream.close()
      throw error
    }
  }

  func start() {
    reader.wake = { [weak self] in self?.pump() }
    reader.overflowed = { [weak self] in self?.end(.slow("too many messages wait for it")) }
    stream.received = { [weak self] in self?.take($0) }
    stream.ended = { [weak self] in self?.end($0 == .closed ? .left : .lost("\($0)")) }
    stream.startReading()
  }

  func tick(now: Moment) {
    if !isGreeted {
      if now - begin >= WireLimits.greetingTime { refuse(.silent, "no greeting within 5 s") }
      return
    }
    let isWaiting = stream.queuedBytes > 0
    let taken = isWaiting ? ConnectionState(of: stream.descriptor).acknowledgedBytes : 0
    if progress.isStuck(acknowledged: taken, hasWaiting: isWaiting, now: now) {
      end(.slow("took nothing for 2 s"))
    } else if !isWaiting, now - lastSent >= WireLimits.heartbeatInterval {
      send(.heartbeat(time: UInt64(MonotonicClock.now()), echo: 0))
    }
  }

  /// Says why, then closes once that is sent.
  func refuse(_ code: FinishCode, _ text: String) {
    guard let ended else { return }
    send(.refusal(code, text))
    forget()
    stream.closeWhenSent()
    ended(.refused("\(code.word): \(text)"))
  }

  /// Closes without a word.
  func end(_ reason: ConsumerEnd) {
    guard let ended else { return }
    forget()
    stream.close()
    ended(reason)
  }

  /// Sends the messages that wait, drops the packets, and closes.
  func leave() {
    while let packet = reader.take() {
      if packet.kind == .message { stream.write(packet.bytes) }
    }
    forget()
    stream.closeWhenSent()
  }

  private func forget() {
    greeted = nil
    joins = nil
    wantsKeyframe = nil
    ended = nil
    reader.wake = nil
    reader.overflowed = nil
  }

  private func take(_ bytes: Span<UInt8>) {
    var position = 0
    while position < bytes.count, ended != nil {
      do {
        var consumed = 0
        let raw = try decoder.take(bytes.extracting(position...), consumed: &consumed)
        position += consumed
        if let raw { try take(raw) }
      } catch .looksLikeHTTP {
        end(.refused("speaks HTTP on the consumers' port"))
      } catch .otherVersion(let version) {
        refuse(.otherVersion, "\(WireError.otherVersion(version))")
      } catch {
        refuse(.protocolError, "\(error)")
      }
    }
  }

  private func take(_ raw: RawMessage) throws(WireError) {
    guard raw.header.kind != .packet else { throw .invalid("packet from a consumer") }
    switch (try Message(raw), isGreeted) {
    case (.greeting(let greeting), false): takeGreeting(greeting)
    case (.keyframeRequest, true): wantsKeyframe?()
    case (.heartbeat, true): break
    case (.finished, true): end(.left)
    case (let message, _): throw .invalid("\(message.kind) from a consumer")
    }
  }

  private func takeGreeting(_ greeting: Greeting) {
    guard greeting.role == .consumer else {
      return refuse(.wrongUse, "this port is for consumers")
    }
    guard visitor.may(showing: greeting.key, wanted: viewerKey) else {
      return refuse(.notAllowed, "the viewer key is missing or wrong")
    }
    isGreeted = true
    for message in greeted?() ?? [] { send(message) }
    joins?()
    pump()
  }

  private func send(_ message: Message) {
    stream.write(SharedBytes(message.encoded()))
    lastSent = .now
  }

  /// Gives the socket one packet at a time, so that what waits stays droppable.
  private func pump() {
    guard isGreeted, !isSending else { return }
    isSending = true
    while let packet = reader.take() {
      lastSent = .now
      guard write(packet.bytes) else { return }
    }
    isSending = false
  }

  /// Whether the kernel took all of `bytes` at once; otherwise pumping goes on when it has.
  private func write(_ bytes: SharedBytes) -> Bool {
    var isTaken = false
    var isWaiting = false
    stream.write(bytes) { [weak self] in
      isTaken = true
      guard isWaiting, let self else { return }
      self.isSending = false
      self.pump()
    }
    isWaiting = !isTaken
    return isTaken
  }
}
