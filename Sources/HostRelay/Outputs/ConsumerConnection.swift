import Posix
import Wire

/// One program on the consumers' port: greeting, then the session's messages and packets.
final class ConsumerConnection {
  /// Called once, when the consumer may watch; the answer is what it reads first.
  var greeted: (() -> [Message])?
  /// Called right after: the time for its reader to join the stream.
  var joins: (() -> Void)?
  var wantsKeyframe: ((_ stream: UInt32) -> Void)?
  /// Called once, at the end.
  var ended: ((ConsumerEnd) -> Void)?

  var reader: Reader { pump.reader }
  private(set) var isGreeted = false

  private let visitor: Visitor
  private let viewerKey: AccessKey
  private let stream: TCPStream
  private let pump: PacketPump
  private let begin: Moment
  private var decoder = MessageDecoder(payloadLimit: WireLimits.greetingPayload)

  init(
    _ socket: consuming OwnedFD, name: String, visitor: Visitor, viewerKey: AccessKey,
    loop: EventLoop, now: Moment
  ) throws {
    self.visitor = visitor
    self.viewerKey = viewerKey
    begin = now
    try TCPSocket.tune(
      socket.raw, silence: RelayLimits.userTimeout, unsent: RelayLimits.notSentBytes)
    stream = try TCPStream(on: loop)
    do { try stream.open(socket) } catch {
      stream.close()
      throw error
    }
    pump = PacketPump(Reader(name: name), to: stream, now: now)
  }

  func start() {
    reader.overflowed = { [weak self] in self?.end(.slow("too many messages wait for it")) }
    stream.received = { [weak self] in self?.take($0) }
    stream.ended = { [weak self] in self?.end($0.isDeparture ? .left : .lost("\($0)")) }
    stream.startReading()
  }

  func tick(now: Moment) {
    if !isGreeted {
      if now - begin >= WireLimits.greetingTime { refuse(.silent, "no greeting within 5 s") }
      return
    }
    if pump.isStuck(now: now) {
      end(.slow("took nothing for 2 s"))
    } else if !pump.isBlocked, now - pump.lastSent >= WireLimits.heartbeatInterval {
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
    pump.stop()
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
    case (.keyframeRequest(let stream), true): wantsKeyframe?(stream)
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
  }

  private func send(_ message: Message) { pump.send(SharedBytes(message.encoded())) }
}
