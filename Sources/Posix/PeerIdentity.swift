internal import CLinux
internal import Glibc

/// Which user owns the other end of a TCP connection on this machine, asked of the kernel by
/// NETLINK_SOCK_DIAG for the exact four-tuple (sock_diag(7)).
///
/// /proc/net/tcp will not do: a stranger who writes and closes at once is listed there with uid 0
/// and inode 0, which would pass for root. So only ESTABLISHED with an inode counts here.
package enum PeerIdentity {
  /// The uid of the socket at the other end of `fd`; nil when there is none on this machine, when
  /// it is closing, or when it is the very socket itself (a connect that met itself).
  package static func uid(ofPeerOf fd: Int32) throws(PosixError) -> UInt32? {
    guard let local = SocketAddress.local(of: fd), let peer = SocketAddress.peer(of: fd),
      local != peer
    else { return nil }
    guard let found = try lookUp(source: peer, destination: local, states: 1 << established),
      found.state == established, found.inode != 0
    else { return nil }
    return found.uid
  }

  /// The uid of whoever listens on `address`; nil when nobody does. A connection that was not yet
  /// accepted has no owner, so this is asked before a secret is sent to a listener.
  package static func uid(ofListenerOn address: SocketAddress) throws(PosixError) -> UInt32? {
    try listener(on: address)?.uid
  }

  /// The inode of that listener's socket, which is how /proc names it.
  static func inode(ofListenerOn address: SocketAddress) throws(PosixError) -> UInt32? {
    try listener(on: address)?.inode
  }

  private static func listener(on address: SocketAddress) throws(PosixError) -> Found? {
    let anywhere = SocketAddress(
      bytes: [UInt8](repeating: 0, count: address.bytes.count), port: 0)
    guard let found = try lookUp(source: address, destination: anywhere, states: 1 << listening),
      found.state == listening, found.inode != 0
    else { return nil }
    return found
  }

  /// Whether the peer of `fd` is a process of this process's user.
  package static func isSameUser(peerOf fd: Int32) throws(PosixError) -> Bool {
    try uid(ofPeerOf: fd) == getuid()
  }

  // TCP_ESTABLISHED and TCP_LISTEN of the kernel's tcp_states.h.
  private static let established: UInt8 = 1
  private static let listening: UInt8 = 10

  private struct Found {
    var state: UInt8
    var uid: UInt32
    var inode: UInt32
  }

  private struct Request {
    var header = nlmsghdr()
    var query = inet_diag_req_v2()
  }

  private static func lookUp(
    source: SocketAddress, destination: SocketAddress, states: UInt32
  ) throws(PosixError) -> Found? {
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
    return try receive(from: netlink.raw)
  }

  /// The kernel answers within the call that asked, so this never waits.
  private static func receive(from netlink: Int32) throws(PosixError) -> Found? {
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = Int(
      try check(
        unsafe answer.withUnsafeMutableBytes {
          unsafe recv(netlink, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }, "recv NETLINK_SOCK_DIAG"))
    return unsafe answer.withUnsafeBytes { bytes -> Found? in
      let headerSize = MemoryLayout<nlmsghdr>.size
      guard count >= headerSize else { return nil }
      let header = unsafe bytes.loadUnaligned(as: nlmsghdr.self)
      guard header.nlmsg_type == UInt16(SOCK_DIAG_BY_FAMILY),
        count >= headerSize + MemoryLayout<inet_diag_msg>.size
      else { return nil }
      let message = unsafe bytes.loadUnaligned(fromByteOffset: headerSize, as: inet_diag_msg.self)
      return Found(
        state: message.idiag_state, uid: message.idiag_uid, inode: message.idiag_inode)
    }
  }
}
