@testable import Wire

/// One message of each kind, with fields that differ from each other and from zero.
enum Samples {
  static let greeting = Greeting(
    role: .relay, pid: 0x0102_0304, instance: 0x1112_1314_1516_1718, session: 0x21, epoch: 3,
    key: [0xaa, 0xbb])
  static let description = StreamDescription(
    source: .screen, codec: .h264, codedSize: .init(width: 1920, height: 1088),
    displaySize: .init(width: 1920, height: 1080), frameRate: .init(30, 1),
    codecString: "avc1.42C028", parameterSets: [0, 0, 0, 1, 0x67])
  static let figures: AgentFigures = {
    var figures = AgentFigures()
    figures[.vmPeakKB] = 44_000
    figures[.bitrate] = 6_000_000
    return figures
  }()

  static let all: [Message] = [
    .greeting(greeting), .refusal(.busy, "another relay is here"),
    .heartbeat(time: 1, echo: .max), .finished(.memory, "ended by its memory limit"),
    .started(.init(name: "desk", source: "portal", driver: "software")),
    .streamDescription(stream: 1, description), .paused([.control, .locked]), .resumed,
    .figures(figures),
    .memoryStep(.picture, "86 % of what is above the plan"),
    .sourceState(.microphone, .lost, "there is no microphone"),
    .sessionState(.interrupted, session: 9, epoch: 2, "agent died"), .keyframeRequest(stream: 1),
    .pause(.control), .resume, .finish("done"), .finish(""), .bitrate(stream: 1, 4_000_000),
    .sound(.microphone, isOn: true), .acknowledgement(packets: 77),
    .audience(readers: 3, containers: 2),
  ]

  static func packet(_ payload: [UInt8]) -> [UInt8] {
    let header = MessageHeader(
      kind: .packet, flags: .keyframe, pts: -2, stream: 1, length: payload.count)
    var bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount) + payload
    var span = bytes.mutableSpan
    header.write(to: &span)
    return bytes
  }
}

/// All messages of `bytes`, given to the decoder in pieces that end at `cuts`.
func decode(
  _ bytes: [UInt8], cuts: [Int] = [], payloadLimit: Int = WireLimits.payload
) throws(WireError) -> [RawMessage] {
  var decoder = MessageDecoder(payloadLimit: payloadLimit)
  var messages: [RawMessage] = []
  var start = 0
  for end in cuts + [bytes.count] {
    let piece = Array(bytes[start..<end])
    start = end
    var at = 0
    while at < piece.count {
      var consumed = 0
      let message = try decoder.take(piece.span.extracting(at..<piece.count), consumed: &consumed)
      at += consumed
      if let message { messages.append(message) } else { break }
    }
  }
  return messages
}
