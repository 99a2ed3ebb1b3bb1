import CUV
import Glibc
import Posix

/// Why a TCP stream ended.
enum StreamEnd: Equatable, CustomStringConvertible {
  /// The peer closed its side in order.
  case closed
  /// A read or a write failed with this negative errno.
  case failed(Int32)

  /// Whether the peer went of its own will: a program that is closed with bytes unread resets.
  var isDeparture: Bool {
    switch self {
    case .closed: true
    case .failed(let code): code == UV_ECONNRESET.rawValue || code == UV_EPIPE.rawValue
    }
  }

  var description: String {
    switch self {
    case .closed: "closed by the peer"
    case .failed(let code): uvErrorText(code)
    }
  }
}

/// One connected TCP socket on the loop.
///
/// Writes keep their order and share the caller's bytes. Reading may be paused, which is how the
/// kernel is told to slow the peer. After `ended`, or `close`, no closure is called again.
@safe final class TCPStream: LoopHandle {
  // What each write touches stands first.
  private var number: uv_os_fd_t = -1
  /// Bytes of the writes that the kernel has not taken whole.
  private(set) var queuedBytes = 0
  /// What has come; the bytes are valid during the call only.
  var received: ((Span<UInt8>) -> Void)?
  /// Called once when the peer is gone; the stream closes itself right after.
  var ended: ((StreamEnd) -> Void)?

  private let loop: EventLoop
  private var stream: UnsafeMutablePointer<uv_stream_t> { unsafe raw() }

  /// An unconnected stream.
  init(on loop: EventLoop) throws(UVError) {
    self.loop = loop
    super.init(UV_TCP)
    try checkUV(unsafe uv_tcp_init(loop.raw, raw()), "uv_tcp_init")
    adopt()
  }

  /// Takes over a connected socket.
  func open(_ socket: consuming OwnedFD) throws(UVError) {
    try checkUV(unsafe uv_tcp_open(raw(), socket.raw), "uv_tcp_open")
    _ = socket.release()
  }

  /// Connects; `done` gets 0 or a negative errno, and nothing at all once closed.
  func connect(to address: SocketAddress, done: @escaping (Int32) -> Void) throws(UVError) {
    var storage = sockaddr_storage()
    let request = PendingRequest(nil) { [self] status in
      if isOpen { done(status) }
    }
    let connect = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
    unsafe connect.pointee.data = Unmanaged.passRetained(request).toOpaque()
    let code = unsafe withUnsafeMutableBytes(of: &storage) { storage in
      let parsed =
        address.isIPv6
        ? unsafe uv_ip6_addr(
          address.host, Int32(address.port),
          storage.assumingMemoryBound(to: sockaddr_in6.self)
            .baseAddress)
        : unsafe uv_ip4_addr(
          address.host, Int32(address.port),
          storage.assumingMemoryBound(to: sockaddr_in.self)
            .baseAddress)
      if parsed < 0 { return parsed }
      return unsafe uv_tcp_connect(
        connect, raw(), storage.assumingMemoryBound(to: sockaddr.self).baseAddress,
        { connect, status in
          guard let connect = unsafe connect else { return }
          unsafe finish(connect.pointee.data, status)
          unsafe connect.deallocate()
        })
    }
    if code < 0 {
      unsafe Unmanaged<PendingRequest>.fromOpaque(connect.pointee.data).release()
      unsafe connect.deallocate()
      throw UVError(call: "uv_tcp_connect", code: code)
    }
    _ = unsafe uv_tcp_nodelay(raw(), 1)
  }

  /// The socket's descriptor, still owned by this stream; -1 while unconnected and once closed.
  var descriptor: Int32 {
    guard isOpen else { return -1 }
    if number < 0 { _ = unsafe uv_fileno(base, &number) }
    return number
  }

  /// How long the peer may leave what was sent unacknowledged, or its window closed, before the
  /// kernel ends the connection; nil: for ever.
  func limitSilence(_ limit: Duration?) { try? TCPSocket.limitSilence(descriptor, to: limit) }

  /// Starts, or resumes, giving bytes to `received`.
  func startReading() {
    guard isOpen else { return }
    _ = unsafe uv_read_start(
      stream,
      { handle, _, buffer in
        guard let input = unsafe (owner(of: handle, as: TCPStream.self))?.loop.input else { return }
        unsafe buffer?.pointee.base = UnsafeMutableRawPointer(input.baseAddress)?
          .assumingMemoryBound(to: CChar.self)
        unsafe buffer?.pointee.len = input.count
      },
      { handle, count, _ in
        unsafe owner(of: handle, as: TCPStream.self)?.took(count)
      })
  }

  func stopReading() {
    guard isOpen else { return }
    _ = unsafe uv_read_stop(stream)
  }

  /// Sends `bytes` after all that was written before. True: the kernel has them already. Otherwise
  /// `taken` runs when it has, unless the stream ends first.
  @discardableResult
  func write(
    _ bytes: SharedBytes, taken: @autoclosure () -> (() -> Void)? = nil
  ) -> Bool {
    guard isOpen else { return false }
    var rest = unsafe bytes.bytes
    // What libuv's own try would do, by way of write(2), which costs more than send(2).
    if queuedBytes == 0 {
      let sent = unsafe send(descriptor, rest.baseAddress, rest.count, 0)
      if sent == bytes.count { return true }
      if sent > 0 {
        unsafe rest = UnsafeRawBufferPointer(rebasing: rest[sent...])
      } else if sent < 0, errno != EAGAIN, errno != EINTR {
        end(.failed(-errno))
        return false
      }
    }
    unsafe queue(bytes, rest, taken: taken())
    return false
  }

  /// Leaves it to libuv to send `rest`, the end of `bytes`.
  private func queue(
    _ bytes: SharedBytes, _ rest: UnsafeRawBufferPointer, taken: (() -> Void)?
  ) {
    var buffer = unsafe rest.uvBuffer
    let count = rest.count
    queuedBytes += count
    // libuv ends each request, when the handle is closed at the latest.
    let request = PendingRequest(bytes) { [self] status in
      queuedBytes -= count
      guard isOpen else { return }
      if status < 0 { end(.failed(status)) } else { taken?() }
    }
    let write = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    unsafe write.pointee.data = Unmanaged.passRetained(request).toOpaque()
    let code = unsafe uv_write(write, stream, &buffer, 1) { write, status in
      guard let write = unsafe write else { return }
      unsafe finish(write.pointee.data, status)
      unsafe write.deallocate()
    }
    if code < 0 {
      unsafe Unmanaged<PendingRequest>.fromOpaque(write.pointee.data).release()
      unsafe write.deallocate()
      queuedBytes -= count
      end(.failed(code))
    }
  }

  /// Closes once the kernel has taken everything written before. A peer that takes nothing is cut
  /// by the socket's TCP_USER_TIMEOUT.
  func closeWhenSent() {
    received = nil
    ended = nil
    stopReading()
    if queuedBytes == 0 || write(SharedBytes([]), taken: { [self] in close() }) { close() }
  }

  private func took(_ count: Int) {
    if count > 0 {
      unsafe received?(UnsafeBufferPointer(rebasing: loop.input[..<count]).span)
    } else if count < 0 {
      end(count == Int(UV_EOF.rawValue) ? .closed : .failed(Int32(count)))
    }
  }

  private func end(_ reason: StreamEnd) {
    guard isOpen else { return }
    let ended = ended
    close()
    ended?(reason)
  }

  override func released() {
    received = nil
    ended = nil
  }
}

/// What an unfinished write or connect keeps alive.
private final class PendingRequest {
  let bytes: SharedBytes?
  let done: (Int32) -> Void

  init(_ bytes: SharedBytes?, done: @escaping (Int32) -> Void) {
    self.bytes = bytes
    self.done = done
  }
}

private func finish(_ data: UnsafeMutableRawPointer?, _ status: Int32) {
  guard let data = unsafe data else { return }
  unsafe Unmanaged<PendingRequest>.fromOpaque(data).takeRetainedValue().done(status)
}

extension UnsafeRawBufferPointer {
  /// libuv's view of these bytes, which it does not change.
  fileprivate var uvBuffer: uv_buf_t {
    unsafe uv_buf_init(
      UnsafeMutablePointer(mutating: baseAddress?.assumingMemoryBound(to: CChar.self)),
      UInt32(count))
  }
}
