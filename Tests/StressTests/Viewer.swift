import Bitstream
import Glibc
import TestSupport
import Wire

/// A consumer of 13580 that takes whatever comes, looks into each packet, and never reconnects.
final class Viewer {
  private(set) var isConnected = true
  private(set) var packets = 0
  private(set) var keyframes = 0
  /// Packets that are no H.264, or call themselves keyframes and are none.
  private(set) var brokenPackets = 0
  /// What the session states said, the last one last.
  private(set) var stateTexts: [String] = []
  private(set) var state = SessionState.waiting
  private let socket: Int32
  private var decoder = MessageDecoder(payloadLimit: WireLimits.payload)
  private var input = [UInt8](repeating: 0, count: 1 << 16)

  init(port: UInt16) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
    }
    guard result == 0 else { throw ProcessFailure(description: "connect: errno \(errno)") }
    let greeting = Message.greeting(
      Greeting(role: .consumer, pid: UInt32(getpid()), instance: 1)
    ).encoded()
    guard send(socket, greeting, greeting.count, Int32(MSG_NOSIGNAL)) == greeting.count else {
      throw ProcessFailure(description: "send: errno \(errno)")
    }
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
  }

  deinit { close(socket) }

  /// How often a session state said so.
  func tellings(of words: String) -> Int { stateTexts.filter { $0.contains(words) }.count }

  /// Takes what has come.
  func read() throws {
    while isConnected {
      let count = recv(socket, &input, input.count, 0)
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else {
        isConnected = false
        return
      }
      let received = input
      var at = 0
      while at < count {
        var consumed = 0
        guard let raw = try decoder.take(received.span.extracting(at..<count), consumed: &consumed)
        else { break }
        at += consumed
        try take(raw)
      }
    }
  }

  private func take(_ raw: RawMessage) throws {
    if raw.header.kind == .packet {
      packets += 1
      let isKeyframe = raw.header.flags.contains(.keyframe)
      if isKeyframe { keyframes += 1 }
      if !isWhole(Array(raw.payload), isKeyframe: isKeyframe) { brokenPackets += 1 }
    } else if case .sessionState(let state, _, _, let text) = try Message(raw) {
      self.state = state
      stateTexts.append(text)
    }
  }

  /// Whether the bytes are NAL units that a decoder takes: with its parameter sets before an IDR.
  private func isWhole(_ bytes: [UInt8], isKeyframe: Bool) -> Bool {
    let types = AnnexB.units(in: bytes.span).map {
      (try? NALUnitHeader(byte: bytes[$0.lowerBound]))?.type
    }
    return types
      == (isKeyframe ? [.sequenceParameterSet, .pictureParameterSet, .sliceIDR] : [.slice])
  }
}
