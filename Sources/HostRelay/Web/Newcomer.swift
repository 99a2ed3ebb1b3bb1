import Glibc
import Posix

/// A connection to the HTTP port of which it is not known yet whose it is. Its bytes are looked at,
/// and stay in the socket.
final class Newcomer {
  enum Sight {
    case unknown
    /// Closed, or broken.
    case gone
    /// A request for us, read off the socket.
    case ours(RequestHead)
    case other
    /// TLS begins, where it is spoken.
    case secure
    /// What cannot be read, and the answer.
    case wrong(HTTPDocument)
  }

  /// Called when there is something to look at.
  var readable: (() -> Void)?
  let peer: SocketAddress
  let visitor: Visitor
  /// Whether anything has come.
  private(set) var hasBegun = false

  private let poll: LoopPoll
  private let speaksTLS: Bool
  private var socket: OwnedFD?

  init(
    _ socket: consuming OwnedFD, from peer: SocketAddress, visitor: Visitor, speaksTLS: Bool,
    loop: EventLoop
  ) throws(UVError) {
    self.speaksTLS = speaksTLS
    self.peer = peer
    self.visitor = visitor
    poll = try LoopPoll(socket.raw, on: loop)
    self.socket = consume socket
    poll.start { [weak self] in self?.readable?() }
  }

  func look() -> Sight {
    guard let descriptor = socket?.raw else { return .gone }
    var bytes = [UInt8](repeating: 0, count: RequestHead.limit)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_PEEK))
    }
    guard count > 0 else { return count < 0 && errno == EAGAIN ? .unknown : .gone }
    hasBegun = true
    let kind = RequestHead.kind(of: bytes.span.extracting(..<count))
    switch kind {
    case .unknown:
      // The end of what is unread would wake again and again.
      if TCPSocket.hasPeerEnded(descriptor) {
        return refuse(400, "this request has no end", descriptor)
      }
      // Woken again by the next byte, not by those that were seen.
      setLowWater(Int32(count + 1), descriptor)
      return .unknown
    case .handshake where speaksTLS: return .secure
    case .handshake, .foreign: return refuse(400, "this is no request", descriptor)
    case .tooLarge:
      return refuse(431, "the head of a request may have \(RequestHead.limit) bytes", descriptor)
    case .other(let end), .ours(let end):
      // libwebsockets closes some that are wrong without a word, and waits for more of others.
      guard let head = RequestHead(String(decoding: bytes[..<end], as: UTF8.self)) else {
        return refuse(400, "this request cannot be read", descriptor)
      }
      setLowWater(1, descriptor)
      if case .other = kind { return .other }
      dropInput()
      return .ours(head)
    }
  }

  private func refuse(_ status: UInt32, _ text: String, _ descriptor: Int32) -> Sight {
    setLowWater(1, descriptor)
    dropInput()
    return .wrong(.line(status, text))
  }

  /// Drops all that has come, a body too: a socket that is closed with bytes unread may take its answer back.
  func dropInput() {
    guard let descriptor = socket?.raw else { return }
    _ = recv(descriptor, nil, Int(Int32.max), Int32(MSG_TRUNC) | Int32(MSG_DONTWAIT))
  }

  /// Whether a whole head of a request waits in the socket.
  static func hasAsked(_ socket: Int32) -> Bool {
    var bytes = [UInt8](repeating: 0, count: RequestHead.limit)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe recv(socket, $0.baseAddress, $0.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    }
    return count > 0 && RequestHead.isWhole(bytes.span.extracting(..<count))
  }

  /// The socket, which is the caller's from then on; nil after the first time.
  func takeSocket() -> OwnedFD? {
    poll.close()
    readable = nil
    return socket.take()
  }

  private func setLowWater(_ count: Int32, _ descriptor: Int32) {
    var count = count
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVLOWAT, &count, socklen_t(MemoryLayout<Int32>.size))
  }
}
