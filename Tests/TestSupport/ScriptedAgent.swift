import Glibc
package import Posix
package import Wire

/// The far end of a connection in Wire's framing, driven by a test: it blocks, with a deadline.
package final class ScriptedPeer {
  package let socket: OwnedFD
  private var decoder = MessageDecoder(payloadLimit: WireLimits.payload)
  private var input: [UInt8] = []

  package init(_ socket: consuming OwnedFD) { self.socket = socket }

  /// Connects to `address` on this machine.
  package convenience init(to address: SocketAddress) throws {
    let socket = OwnedFD(
      Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = address.port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket.raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw PosixError("connect \(address)") }
    self.init(socket)
  }

  /// A consumer that has greeted.
  package static func consumer(of address: SocketAddress, key: [UInt8] = []) throws -> ScriptedPeer
  {
    let peer = try ScriptedPeer(to: address)
    try peer.send(.greeting(Greeting(role: .consumer, pid: 1, instance: 1, key: key)))
    return peer
  }

  package func send(_ message: Message) throws { try send(message.encoded()) }

  package func sendPacket(_ payload: [UInt8], pts: Int64, isKeyframe: Bool, stream: UInt32 = 1)
    throws
  {
    var bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount) + payload
    var span = bytes.mutableSpan
    MessageHeader(
      kind: .packet, flags: isKeyframe ? .keyframe : [], pts: pts, stream: stream,
      length: payload.count
    ).write(to: &span)
    try send(bytes)
  }

  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EAGAIN {
        var wait = pollfd(fd: socket.raw, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, 1000)
      } else if count < 0 {
        throw PosixError("send")
      } else {
        rest = rest.dropFirst(count)
      }
    }
  }

  /// Throws away what has come, so that the other side can go on sending.
  package func discardInput() {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while recv(socket.raw, &piece, piece.count, Int32(MSG_DONTWAIT)) > 0 {}
  }

  /// The next message of any kind; nil at the connection's end.
  package func receive(within limit: Duration = .seconds(10)) throws -> RawMessage? {
    let end = ContinuousClock.now + limit
    while true {
      if !input.isEmpty {
        var consumed = 0
        let bytes = input
        let raw = try decoder.take(bytes.span, consumed: &consumed)
        input.removeFirst(consumed)
        if let raw { return raw }
      }
      guard ContinuousClock.now < end else {
        throw ProcessFailure(description: "no message in \(limit)")
      }
      var wait = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 50) > 0 else { continue }
      var piece = [UInt8](repeating: 0, count: 65_536)
      let count = recv(socket.raw, &piece, piece.count, 0)
      if count == 0 || count < 0 && errno == ECONNRESET { return nil }
      if count > 0 { input += piece[..<count] }
    }
  }

  /// The header of the next message; its payload is read and thrown away. For a peer that takes nothing
  /// by `receive`.
  package func skipMessage() throws -> MessageHeader {
    var bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount)
    try read(into: &bytes, count: bytes.count)
    let header = try MessageHeader(bytes.span, payloadLimit: WireLimits.payload)
    var rest = header.length
    var piece = [UInt8](repeating: 0, count: 262_144)
    while rest > 0 {
      let count = min(rest, piece.count)
      try read(into: &piece, count: count)
      rest -= count
    }
    return header
  }

  private func read(into bytes: inout [UInt8], count: Int) throws {
    var taken = 0
    while taken < count {
      var wait = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 10_000) > 0 else { throw ProcessFailure(description: "no byte in 10 s") }
      let read = bytes.withUnsafeMutableBytes {
        recv(socket.raw, $0.baseAddress! + taken, count - taken, 0)
      }
      guard read > 0 else { throw PosixError("recv") }
      taken += read
    }
  }

  /// All bytes up to the connection's end.
  package func receiveAll(within limit: Duration = .seconds(10)) throws -> [UInt8] {
    let end = ContinuousClock.now + limit
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while ContinuousClock.now < end {
      var wait = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 50) > 0 else { continue }
      let count = recv(socket.raw, &piece, piece.count, Int32(MSG_DONTWAIT))
      if count == 0 || count < 0 && errno != EAGAIN { return bytes }
      if count > 0 { bytes += piece[..<count] }
    }
    throw ProcessFailure(description: "the connection has not ended in \(limit)")
  }

  /// Whether the other side ends the connection in time, whatever it says before.
  package func isCut(within limit: Duration) throws -> Bool {
    let end = ContinuousClock.now + limit
    var piece = [UInt8](repeating: 0, count: 65_536)
    while ContinuousClock.now < end {
      var wait = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 50) > 0 else { continue }
      let count = recv(socket.raw, &piece, piece.count, Int32(MSG_DONTWAIT))
      if count == 0 || count < 0 && errno != EAGAIN { return true }
    }
    return false
  }

  /// The next message that `pick` wants; others are passed over.
  package func receive<Value>(
    _ what: String, within limit: Duration = .seconds(10), _ pick: (RawMessage) throws -> Value?
  ) throws -> Value {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
      guard let raw = try receive(within: limit) else {
        throw ProcessFailure(description: "the connection ended before \(what)")
      }
      if let value = try pick(raw) { return value }
    }
    throw ProcessFailure(description: "no \(what) in \(limit)")
  }

  /// The next packet's header.
  package func receivePacket() throws -> MessageHeader {
    try receive("packet") { $0.header.kind == .packet ? $0.header : nil }
  }

  /// Waits until a consumer reads that the session is in `state`; returns the reason.
  @discardableResult
  package func receiveState(_ state: SessionState, within limit: Duration = .seconds(10)) throws
    -> String
  {
    try receive("state \(state.word)", within: limit) { raw in
      guard raw.header.kind == .sessionState,
        case .sessionState(state, _, _, let text) = try Message(raw)
      else { return nil }
      return text
    }
  }
}

/// An agent whose every word the test says.
package final class ScriptedAgent {
  package let address: SocketAddress
  private let listener: OwnedFD
  private let token: LinkToken

  package init(token: LinkToken) throws {
    let loopback = SocketAddress(bytes: [127, 0, 0, 1], port: 0)
    listener = try TCPSocket.listen(on: loopback, backlog: 8)
    address = SocketAddress.local(of: listener.raw) ?? loopback
    self.token = token
  }

  /// The next connection, not greeted.
  package func accept() throws -> ScriptedPeer {
    try waitUntil("a relay") { () -> ScriptedPeer? in
      guard let socket = try TCPSocket.accept(on: listener.raw) else { return nil }
      return ScriptedPeer(socket)
    }
  }

  /// Whether a relay has connected that was not accepted yet.
  package var isCalled: Bool {
    get throws {
      var wait = pollfd(fd: listener.raw, events: Int16(POLLIN), revents: 0)
      return poll(&wait, 1, 100) > 0
    }
  }

  /// The next relay, greeted; `instance` tells one agent from the next, `session` is carried along,
  /// the relay's own if nil.
  package func link(
    instance: UInt64 = 1, pid: UInt32 = 1_000_000, session: UInt64? = nil
  ) throws -> (ScriptedPeer, Greeting) {
    let peer = try accept()
    let greeting = try peer.receive("greeting") { raw -> Greeting? in
      guard case .greeting(let greeting) = try Message(raw) else { return nil }
      return greeting
    }
    try peer.send(
      .greeting(
        Greeting(
          role: .agent, pid: pid, instance: instance, session: session ?? greeting.session,
          epoch: greeting.epoch, key: token.bytes)))
    return (peer, greeting)
  }

  /// A link that has begun to send: setup and one stream.
  package func begin(instance: UInt64 = 1, pid: UInt32 = 1_000_000) throws -> ScriptedPeer {
    let (peer, _) = try link(instance: instance, pid: pid)
    try peer.send(.started(.init(name: "test", source: "script", driver: "none")))
    try peer.send(.streamDescription(stream: 1, Self.description))
    return peer
  }

  package static let description = StreamDescription(
    source: .screen, codec: .h264, codedSize: .init(width: 320, height: 240),
    displaySize: .init(width: 320, height: 240), frameRate: .init(30, 1),
    codecString: "avc1.42C00D", parameterSets: [])
}
