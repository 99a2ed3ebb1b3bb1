internal import CLinux
internal import Glibc

/// Sockets of the agent's link: non-blocking, closed on exec.
package enum TCPSocket {
  /// Listens on `address` with SO_REUSEADDR, never SO_REUSEPORT: nobody may share the port.
  package static func listen(
    on address: SocketAddress, backlog: Int32
  ) throws(PosixError) -> OwnedFD {
    let socket = OwnedFD(try check(makeSocket(for: address), "socket"))
    try set(SOL_SOCKET, SO_REUSEADDR, to: 1, on: socket.raw)
    // [::] takes IPv4 too, whatever the machine's setting.
    if address.isIPv6 { try set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: 0, on: socket.raw) }
    try check(unsafe address.withSockaddr { unsafe bind(socket.raw, $0, $1) }, "bind \(address)")
    try check(Glibc.listen(socket.raw, backlog), "listen \(address)")
    return socket
  }

  /// Takes a socket of another process's making for a listener of ours; returns what it is bound to.
  /// Throws EINVAL for anything but a TCP socket that listens.
  static func adoptListener(_ fd: Int32) throws(PosixError) -> SocketAddress {
    guard try get(SOL_SOCKET, SO_TYPE, of: fd) == Int32(SOCK_STREAM.rawValue),
      try get(SOL_SOCKET, SO_PROTOCOL, of: fd) == Int32(IPPROTO_TCP),
      try get(SOL_SOCKET, SO_ACCEPTCONN, of: fd) == 1, let address = SocketAddress.local(of: fd)
    else { throw PosixError("passed descriptor \(fd) is no listening TCP socket", code: EINVAL) }
    try check(fcntl(fd, F_SETFD, FD_CLOEXEC), "fcntl F_SETFD")
    try check(fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl F_SETFL")
    return address
  }

  /// The next connection; nil when none waits or it went away. EMFILE and its kin are thrown: the
  /// caller stops accepting until descriptors are free.
  package static func accept(on listener: Int32) throws(PosixError) -> OwnedFD? {
    let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let fd = accept4(listener, nil, nil, flags)
    if fd >= 0 { return OwnedFD(fd) }
    switch errno {
    case EAGAIN, ECONNABORTED, EINTR, EPROTO: return nil
    default: throw PosixError("accept")
    }
  }

  /// A blocking connection to `address`, each step of which takes `timeout` at most.
  package static func connect(
    to address: SocketAddress, timeout: Duration
  ) throws(PosixError) -> OwnedFD {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let connection = OwnedFD(
      try check(socket(address.isIPv6 ? AF_INET6 : AF_INET, type, 0), "socket"))
    var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      try check(
        unsafe setsockopt(connection.raw, SOL_SOCKET, option, &limit, size), "setsockopt")
    }
    try check(
      unsafe address.withSockaddr { unsafe Glibc.connect(connection.raw, $0, $1) },
      "connect \(address)")
    return connection
  }

  /// Sends all of `bytes` on a blocking connection.
  package static func send(_ bytes: [UInt8], to fd: Int32) throws(PosixError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      rest = rest.dropFirst(Int(try check(count, "send")))
    }
  }

  /// All that comes on a blocking connection until its end.
  package static func receiveAll(from fd: Int32) throws(PosixError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes {
        unsafe recv(fd, $0.baseAddress, $0.count, 0)
      }
      guard try check(count, "recv") > 0 else { return bytes }
      bytes += piece.prefix(count)
    }
  }

  /// Sends small messages at once, notices a dead peer in `silence`, and keeps no more than
  /// `unsent` bytes in the kernel before the socket stops being writable.
  package static func tune(
    _ fd: Int32, silence: Duration, unsent: Int32?
  ) throws(PosixError) {
    try set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1, on: fd)
    try limitSilence(fd, to: silence)
    if let unsent { try set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, to: unsent, on: fd) }
  }

  /// After `limit` without an answer, or with a window that stays closed, the kernel ends the
  /// connection (TCP_USER_TIMEOUT); nil: as it does by itself.
  package static func limitSilence(_ fd: Int32, to limit: Duration?) throws(PosixError) {
    let milliseconds = Int32(clamping: (limit ?? .zero).nanoseconds / 1_000_000)
    try set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, to: milliseconds, on: fd)
  }

  /// Whether the other end will send no more, whatever of it is unread.
  package static func hasPeerEnded(_ fd: Int32) -> Bool {
    // The first byte of TCP_INFO.
    var state: UInt8 = 0
    var size = socklen_t(1)
    _ = unsafe getsockopt(fd, Int32(IPPROTO_TCP), TCP_INFO, &state, &size)
    return state != UInt8(TCP_ESTABLISHED)
  }

  /// Bytes that have come and that nobody here has read.
  package static func unreadBytes(of fd: Int32) -> Int {
    var count: Int32 = 0
    _ = unsafe ioctl(fd, UInt(FIONREAD), &count)
    return Int(count)
  }

  /// Bytes that the kernel holds for the socket: received, sent and unacknowledged, and reserved.
  package static func memory(of fd: Int32) -> Int {
    // The first words of what SO_MEMINFO tells, as linux/sock_diag.h has them.
    var words = InlineArray<9, UInt32>(repeating: 0)
    var size = socklen_t(MemoryLayout<InlineArray<9, UInt32>>.size)
    guard unsafe getsockopt(fd, SOL_SOCKET, SO_MEMINFO, &words, &size) == 0 else { return 0 }
    return Int(words[SK_MEMINFO_RMEM_ALLOC]) + Int(words[SK_MEMINFO_WMEM_QUEUED])
      + Int(words[SK_MEMINFO_FWD_ALLOC])
  }

  private static func makeSocket(for address: SocketAddress) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    return socket(address.isIPv6 ? AF_INET6 : AF_INET, type, 0)
  }

  private static func set(
    _ level: Int32, _ option: Int32, to value: Int32, on fd: Int32
  ) throws(PosixError) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    try check(unsafe setsockopt(fd, level, option, &value, size), "setsockopt \(option)")
  }
  private static func get(
    _ level: Int32, _ option: Int32, of fd: Int32
  ) throws(PosixError) -> Int32 {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    try check(unsafe getsockopt(fd, level, option, &value, &size), "passed descriptor \(fd)")
    return value
  }
}
