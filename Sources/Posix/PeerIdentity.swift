internal import Glibc

/// Which user owns the other end of a TCP connection on this machine, asked of the kernel for the
/// exact four-tuple.
///
/// /proc/net/tcp will not do: a stranger who writes and closes at once is listed there with uid 0
/// and inode 0, which would pass for root. So only a socket with an inode counts here.
package enum PeerIdentity {
  /// The uid of the socket at the other end of `fd`; nil when there is none on this machine, when
  /// it is closed, or when it is the very socket itself (a connect that met itself).
  package static func uid(ofPeerOf fd: Int32) throws(PosixError) -> UInt32? {
    guard let found = try SocketRecord(ofPeerOf: fd), found.inode != 0 else { return nil }
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

  private static func listener(on address: SocketAddress) throws(PosixError) -> SocketRecord? {
    guard let found = try SocketRecord(ofListenerOn: address), found.inode != 0 else { return nil }
    return found
  }

  /// Whether the peer of `fd` is a process of this process's user.
  package static func isSameUser(peerOf fd: Int32) throws(PosixError) -> Bool {
    try uid(ofPeerOf: fd) == getuid()
  }
}
