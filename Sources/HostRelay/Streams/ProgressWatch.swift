import Glibc
import Posix

/// Sees whether a consumer still takes bytes.
struct ProgressWatch {
  private var taken: Int64 = 0
  private var since: Moment
  private let limit: Duration

  init(now: Moment, limit: Duration = RelayLimits.stuckAfter) {
    since = now
    self.limit = limit
  }

  /// True once something waited for `limit` and the peer took no byte; `taken` counts from the
  /// connection's beginning.
  mutating func isStuck(taken: Int64, hasWaiting: Bool, now: Moment) -> Bool {
    if !hasWaiting || taken > self.taken {
      self.taken = taken
      since = now
      return false
    }
    return now - since >= limit
  }
}

/// How much the other end of a connection has taken.
enum ConnectionProgress {
  /// Bytes that the peer of `socket` has read since the connection began. Of one on another machine
  /// no more can be known than what its kernel has acknowledged.
  ///
  /// What is acknowledged alone does not do: a kernel opens its window again when its process has
  /// read all that waits, and one that reads 20 kB/s is at that for 6 s.
  static func takenBytes(of socket: Int32) -> Int64 {
    // Linux's `struct tcp_info` (since 4.1), of which Glibc's header has only the beginning: at byte
    // 120 stand the acknowledged bytes.
    var info = [UInt64](repeating: 0, count: 16)
    var length = socklen_t(info.count * 8)
    _ = unsafe info.withUnsafeMutableBytes { bytes in
      unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length)
    }
    let unread = (try? SocketRecord(ofPeerOf: socket))?.unreadBytes ?? 0
    return Int64(clamping: info[15]) - Int64(unread)
  }
}
