import Glibc
import Posix

/// A connection to the HTTP port of which it is not known yet whose it is. Its bytes are looked at,
/// and stay in the socket.
final class Newcomer {
  enum Sight {
    case unknown
    /// Closed, or broken.
    case gone
    /// A player's request, read off the socket; nil where it cannot be understood.
    case live(RequestHead?)
    case other
    /// TLS begins, where it is spoken.
    case secure
    /// By no method that is known here.
    case foreign
  }

  /// Called when there is something to look at.
  var readable: (() -> Void)?
  let peer: SocketAddress
  let visitor: Visitor

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
    let count = receive(&bytes, bytes.count, descriptor, flags: MSG_PEEK)
    guard count > 0 else { return count < 0 && errno == EAGAIN ? .unknown : .gone }
    switch RequestHead.kind(of: bytes.span.extracting(..<count)) {
    case .unknown:
      // Woken again by the next byte, not by those that were seen.
      setLowWater(Int32(count + 1), descriptor)
      return .unknown
    case .other:
      setLowWater(1, descriptor)
      return .other
    case .handshake where speaksTLS: return .secure
    case .handshake, .foreign:
      _ = receive(&bytes, count, descriptor, flags: 0)
      return .foreign
    case .live(let end):
      setLowWater(1, descriptor)
      guard receive(&bytes, end, descriptor, flags: 0) == end else { return .gone }
      return .live(RequestHead(String(decoding: bytes[..<end], as: UTF8.self)))
    }
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

  private func receive(
    _ bytes: inout [UInt8], _ count: Int, _ descriptor: Int32, flags: Int
  ) -> Int {
    unsafe bytes.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, count, Int32(flags))
    }
  }

  private func setLowWater(_ count: Int32, _ descriptor: Int32) {
    var count = count
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVLOWAT, &count, socklen_t(MemoryLayout<Int32>.size))
  }
}
