internal import CLinux
internal import Glibc

/// What the kernel has on record of a TCP socket on this machine, whoever holds it: asked by
/// NETLINK_SOCK_DIAG for the exact four-tuple (sock_diag(7)).
package struct SocketRecord {
  package let uid: UInt32
  /// How /proc names the socket; 0 for one that nobody holds.
  let inode: UInt32
  /// Bytes that have come and that its process has not read.
  package let unreadBytes: UInt32

  /// The other end of `fd`, which may have said all that it will; nil when there is none on this machine,
  /// when it is closed, or when it is the very socket itself (a connect that met itself).
  package init?(ofPeerOf fd: Int32) throws(PosixError) {
    guard let local = SocketAddress.local(of: fd), let peer = SocketAddress.peer(of: fd),
      local != peer
    else { return nil }
    try self.init(source: peer, destination: local, states: Self.open)
  }

  /// Whoever listens on `address`; nil when nobody does.
  init?(ofListenerOn address: SocketAddress) throws(PosixError) {
    let anywhere = SocketAddress(
      bytes: [UInt8](repeating: 0, count: address.bytes.count), port: 0)
    try self.init(source: address, destination: anywhere, states: Self.listening)
  }

  // TCP_ESTABLISHED, FIN_WAIT1 and FIN_WAIT2, and TCP_LISTEN of the kernel's tcp_states.h.
  private static let open: UInt32 = 1 << 1 | 1 << 4 | 1 << 5
  private static let listening: UInt32 = 1 << 10

  private struct Request {
    var header = nlmsghdr()
    var query = inet_diag_req_v2()
  }

  private init?(
    source: SocketAddress, destination: SocketAddress, states: UInt32
  ) throws(PosixError) {
    let netlink = OwnedFD(
      try check(
        socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), NETLINK_SOCK_DIAG),
        "socket NETLINK_SOCK_DIAG"))
    var request = Request()
    request.header.nlmsg_len = UInt32(MemoryLayout<Request>.size)
    request.header.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
    request.header.nlmsg_flags = UInt16(NLM_F_REQUEST)
    request.query.sdiag_family = UInt8(source.isIPv6 ? AF_INET6 : AF_INET)
    request.query.sdiag_protocol = UInt8(IPPROTO_TCP)
    request.query.idiag_states = states
    request.query.id.idiag_sport = source.port.bigEndian
    request.query.id.idiag_dport = destination.port.bigEndian
    unsafe withUnsafeMutableBytes(of: &request.query.id.idiag_src) {
      unsafe $0.copyBytes(from: source.bytes)
    }
    unsafe withUnsafeMutableBytes(of: &request.query.id.idiag_dst) {
      unsafe $0.copyBytes(from: destination.bytes)
    }
    request.query.id.idiag_cookie = (.max, .max)  // INET_DIAG_NOCOOKIE
    let sent = unsafe withUnsafeBytes(of: &request) {
      unsafe send(netlink.raw, $0.baseAddress, $0.count, 0)
    }
    try check(sent, "send NETLINK_SOCK_DIAG")
    guard let found = try Self.receive(from: netlink.raw),
      found.idiag_state < 32, states >> UInt32(found.idiag_state) & 1 == 1
    else { return nil }
    uid = found.idiag_uid
    inode = found.idiag_inode
    unreadBytes = found.idiag_rqueue
  }

  /// The kernel answers within the call that asked, so this never waits.
  private static func receive(from netlink: Int32) throws(PosixError) -> inet_diag_msg? {
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = Int(
      try check(
        unsafe answer.withUnsafeMutableBytes {
          unsafe recv(netlink, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }, "recv NETLINK_SOCK_DIAG"))
    return unsafe answer.withUnsafeBytes { bytes -> inet_diag_msg? in
      let headerSize = MemoryLayout<nlmsghdr>.size
      guard count >= headerSize else { return nil }
      let header = unsafe bytes.loadUnaligned(as: nlmsghdr.self)
      guard header.nlmsg_type == UInt16(SOCK_DIAG_BY_FAMILY),
        count >= headerSize + MemoryLayout<inet_diag_msg>.size
      else { return nil }
      return unsafe bytes.loadUnaligned(fromByteOffset: headerSize, as: inet_diag_msg.self)
    }
  }
}
