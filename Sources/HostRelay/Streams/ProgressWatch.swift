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

/// Bytes that the peer's kernel has acknowledged since the connection began: `tcpi_bytes_acked`,
/// 8 bytes at offset 120 of Linux's `struct tcp_info` (since 4.1), which Glibc's header lacks.
func acknowledgedBytes(of socket: Int32) -> UInt64 {
  var info = [UInt64](repeating: 0, count: 16)
  var length = socklen_t(info.count * 8)
  let result = unsafe info.withUnsafeMutableBytes { bytes in
    unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length)
  }
  return result == 0 ? info[15] : 0
}
