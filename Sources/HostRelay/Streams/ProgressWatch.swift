import Glibc

/// Sees whether a consumer's socket still takes bytes.
struct ProgressWatch {
  private var acknowledged: UInt64 = 0
  private var since: Moment

  init(now: Moment) { since = now }

  /// True once something waited for `stuckAfter` and the peer took no byte.
  mutating func isStuck(acknowledged: UInt64, hasWaiting: Bool, now: Moment) -> Bool {
    if !hasWaiting || acknowledged != self.acknowledged {
      self.acknowledged = acknowledged
      since = now
      return false
    }
    return now - since >= RelayLimits.stuckAfter
  }
}

/// What the kernel knows of a connection: Linux's `struct tcp_info` (since 4.1), of which Glibc's
/// header has only the beginning.
///
///     0       1 ...   120                 128
///     | state |       | acknowledged bytes |      the machine's byte order
struct ConnectionState {
  /// False once the peer has closed its side, or all is over.
  let isEstablished: Bool
  /// Bytes that the peer's kernel has acknowledged since the connection began.
  let acknowledgedBytes: UInt64

  init(of socket: Int32) {
    var info = [UInt64](repeating: 0, count: 16)
    var length = socklen_t(info.count * 8)
    let result = unsafe info.withUnsafeMutableBytes { bytes in
      unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length)
    }
    isEstablished = result == 0 && UInt8(truncatingIfNeeded: info[0].littleEndian) == 1
    acknowledgedBytes = info[15]
  }
}
