import Glibc
package import Posix
package import Wire

/// The browser's end of a WebSocket (RFC 6455), as far as tests need one: each of its messages carries
/// one of Wire's.
package final class WebSocketPeer {
  /// The status of the answer to the request; 101 where the socket stands.
  package let status: Int
  package let peer: ScriptedPeer
  private var input: [UInt8] = []

  package enum Event {
    case message(RawMessage)
    case bytes([UInt8])
    case closed(code: UInt16, reason: String)
    case ended
  }

  package convenience init(
    _ relay: RelayRun, path: String = "/watch", fields: [String] = []
  ) throws {
    try self.init(to: relay.http, path: path, fields: fields)
  }

  package init(to address: SocketAddress, path: String = "/watch", fields: [String] = []) throws {
    peer = try ScriptedPeer(to: address)
    let lines = [
      "GET \(path) HTTP/1.1", "Host: \(address)", "Connection: Upgrade", "Upgrade: websocket",
      "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    try peer.send(Array((lines + fields + ["", ""]).joined(separator: "\r\n").utf8))
    var head: [UInt8] = []
    while !head.ends(with: [13, 10, 13, 10]) {
      guard let byte = try Self.receive(1, from: peer)?.first else { break }
      head.append(byte)
    }
    let words = String(decoding: head, as: UTF8.self).split(separator: " ")
    status = words.count > 1 ? Int(words[1]) ?? 0 : 0
  }

  package func send(_ message: Message) throws { try sendFrame(2, message.encoded()) }

  /// A frame as a browser sends it, masked with zeros.
  package func sendFrame(_ opcode: UInt8, _ payload: [UInt8]) throws {
    precondition(payload.count < 65_536, "test messages are small")
    let length: [UInt8] =
      payload.count < 126
      ? [0x80 | UInt8(payload.count)]
      : [0xfe, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    try peer.send([0x80 | opcode] + length + [0, 0, 0, 0] + payload)
  }

  /// What comes next; pings are answered.
  package func receive() throws -> Event {
    while true {
      guard let head = try Self.receive(2, from: peer) else { return .ended }
      var length = Int(head[1] & 0x7f)
      if length >= 126 {
        guard let more = try Self.receive(length == 126 ? 2 : 8, from: peer) else { return .ended }
        length = more.reduce(0) { $0 << 8 | Int($1) }
      }
      guard let payload = try Self.receive(length, from: peer) else { return .ended }
      switch head[0] & 15 {
      case 8 where payload.count >= 2:
        return .closed(
          code: UInt16(payload[0]) << 8 | UInt16(payload[1]),
          reason: String(decoding: payload[2...], as: UTF8.self))
      case 8: return .closed(code: 1005, reason: "")
      case 9: try sendFrame(10, payload)
      default:
        var decoder = MessageDecoder(payloadLimit: WireLimits.payload)
        var consumed = 0
        guard let raw = try? decoder.take(payload.span, consumed: &consumed),
          consumed == payload.count
        else { return .bytes(payload) }
        return .message(raw)
      }
    }
  }

  /// The next event that `pick` wants.
  @discardableResult
  package func receive<Value>(
    _ what: String, within limit: Duration = .seconds(10), _ pick: (Event) throws -> Value?
  ) throws -> Value {
    try waitUntil(what, within: limit) {
      let event = try receive()
      if let value = try pick(event) { return value }
      if case .ended = event { throw ProcessFailure(description: "ended before \(what)") }
      return nil
    }
  }

  private static func receive(_ count: Int, from peer: ScriptedPeer) throws -> [UInt8]? {
    var bytes: [UInt8] = []
    let end = ContinuousClock.now + .seconds(10)
    while bytes.count < count {
      guard ContinuousClock.now < end else { throw ProcessFailure(description: "nothing came") }
      var wait = pollfd(fd: peer.socket.raw, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 50) > 0 else { continue }
      var piece = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(peer.socket.raw, &piece, piece.count, 0)
      guard got > 0 else { return nil }
      bytes += piece[..<got]
    }
    return bytes
  }
}

extension [UInt8] {
  fileprivate func ends(with suffix: [UInt8]) -> Bool {
    self.suffix(suffix.count).elementsEqual(suffix)
  }
}
