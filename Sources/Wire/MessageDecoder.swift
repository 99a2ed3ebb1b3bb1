/// One message as it came: its header, and header and payload as one piece of memory, so that a
/// relay may write another header over the first 24 bytes and pass it on.
package struct RawMessage: Equatable, Sendable {
  package let header: MessageHeader
  package var bytes: [UInt8]

  package var payload: ArraySlice<UInt8> { bytes[MessageHeader.byteCount...] }
}

/// Cuts a byte stream into messages. Memory for a payload is taken only after its length was
/// checked, and then bit by bit as it comes. After an error it takes nothing more.
package struct MessageDecoder: Sendable {
  /// The most that a payload may have; a listener raises it once a peer has greeted.
  package var payloadLimit: Int
  /// What has come of the next message; once it is whole, memory that the one after it may use again.
  private var bytes: [UInt8] = []
  private var header: MessageHeader?
  private var isWhole = false
  private var failure: WireError?

  private static let keptByteCount = 256

  package init(payloadLimit: Int) {
    self.payloadLimit = payloadLimit
  }

  /// Takes bytes from the front of `input` up to the end of one message. `consumed` says how many;
  /// call again with the rest. nil: the message is not whole yet, and all of `input` was taken.
  package mutating func take(
    _ input: Span<UInt8>, consumed: inout Int
  ) throws(WireError) -> RawMessage? {
    if let failure { throw failure }
    do {
      return try takeUnlessFailed(input, consumed: &consumed)
    } catch {
      failure = error
      bytes = []
      throw error
    }
  }

  private mutating func takeUnlessFailed(
    _ input: Span<UInt8>, consumed: inout Int
  ) throws(WireError) -> RawMessage? {
    consumed = 0
    if isWhole {
      isWhole = false
      bytes.removeAll(keepingCapacity: true)
    }
    if header == nil {
      append(from: input, upTo: MessageHeader.byteCount, consumed: &consumed)
      if MessageHeader.looksLikeHTTP(bytes.span) { throw .looksLikeHTTP }
      guard bytes.count == MessageHeader.byteCount else { return nil }
      header = try MessageHeader(bytes.span, payloadLimit: payloadLimit)
    }
    guard let header else { return nil }
    let total = MessageHeader.byteCount + header.length
    append(from: input, upTo: total, consumed: &consumed)
    guard bytes.count == total else { return nil }
    let message = RawMessage(header: header, bytes: bytes)
    self.header = nil
    // Most messages are small and read at once: their memory serves the next one.
    if total > Self.keptByteCount { bytes = [] } else { isWhole = true }
    return message
  }

  private mutating func append(from input: Span<UInt8>, upTo count: Int, consumed: inout Int) {
    let taken = min(count - bytes.count, input.count - consumed)
    bytes.reserveCapacity(min(count, bytes.count + max(taken, 64)))
    for index in consumed..<consumed + taken { bytes.append(input[index]) }
    consumed += taken
  }
}

extension Message {
  /// Reads what `raw` says. A packet is no `Message`: look at the header's kind first.
  package init(_ raw: RawMessage) throws(WireError) {
    var fields = FieldReader(raw.payload, of: raw.header.kind)
    self = try Self.read(raw.header, &fields)
    try fields.end()
  }

  private static func read(
    _ header: MessageHeader, _ fields: inout FieldReader
  ) throws(WireError) -> Message {
    switch header.kind {
    case .greeting: return .greeting(try Greeting(from: &fields))
    case .refusal: return .refusal(try readCode(&fields), try fields.readText("text"))
    case .heartbeat: return .heartbeat(time: try fields.read(), echo: try fields.read())
    case .finished: return .finished(try readCode(&fields), try fields.readText("text"))
    case .started:
      return .started(
        Setup(
          name: try fields.readText("name"), source: try fields.readText("source"),
          driver: try fields.readText("driver")))
    case .streamDescription:
      return .streamDescription(
        stream: header.stream, try StreamDescription(from: &fields))
    case .packet: throw .invalid("packet where a message was expected")
    case .paused: return .paused(try PauseReasons(from: &fields))
    case .resumed: return .resumed
    case .figures: return .figures(try AgentFigures(from: &fields))
    case .memoryStep:
      guard let step = MemoryStep(rawValue: try fields.read()) else { throw .invalid("step") }
      return .memoryStep(step, try fields.readText("text"))
    case .sourceState:
      guard let source = StreamDescription.Source(rawValue: try fields.read()) else {
        throw .invalid("source")
      }
      guard let state = SourceState(rawValue: try fields.read()) else { throw .invalid("state") }
      return .sourceState(source, state, try fields.readText("text"))
    case .sessionState:
      guard let state = SessionState(rawValue: try fields.read()) else { throw .invalid("state") }
      return .sessionState(
        state, session: try fields.read(), epoch: try fields.read(), try fields.readText("text"))
    case .keyframeRequest: return .keyframeRequest(stream: header.stream)
    case .pause: return .pause(try PauseReasons(from: &fields))
    case .resume: return .resume
    case .finish: return .finish(try fields.readText("reason"))
    case .bitrate: return .bitrate(stream: header.stream, try fields.read())
    case .sound:
      guard let source = StreamDescription.Source(rawValue: try fields.read()) else {
        throw .invalid("source")
      }
      switch try fields.read(UInt8.self) {
      case 0: return .sound(source, isOn: false)
      case 1: return .sound(source, isOn: true)
      default: throw .invalid("switch")
      }
    case .acknowledgement: return .acknowledgement(packets: try fields.read())
    case .audience:
      return .audience(readers: try fields.read(), containers: try fields.read())
    }
  }

  private static func readCode(_ fields: inout FieldReader) throws(WireError) -> FinishCode {
    guard let code = FinishCode(rawValue: try fields.read()) else { throw .invalid("code") }
    return code
  }
}
