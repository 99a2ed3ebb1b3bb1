import Synchronization

/// What the encoder's thread has done, for the status; written there, read on the loop.
final class EncodeCounts: Sendable {
  struct Counts {
    var encoded = 0
    var unchanged = 0
    var failed = 0
    var keyframes = 0
    /// Microseconds from the frame's taking to its access unit, of the last pictures.
    fileprivate var times: [UInt32] = []
  }

  // Two seconds at 60 frames a second; the loop empties it once a second.
  private static let timeCapacity = 128
  private let counts: Mutex<Counts>

  init() {
    var counts = Counts()
    counts.times.reserveCapacity(Self.timeCapacity)
    self.counts = Mutex(counts)
  }

  func change(_ body: (inout Counts) -> Void) {
    counts.withLock { body(&$0) }
  }

  /// Records the time of one picture.
  func record(microseconds: Int64) {
    counts.withLock { counts in
      guard counts.times.count < Self.timeCapacity else { return }
      counts.times.append(UInt32(clamping: microseconds))
    }
  }

  /// The counts, with median and maximum of the times since the last call.
  func takeSecond() -> (counts: Counts, median: Int, max: Int) {
    counts.withLock { counts in
      counts.times.sort()
      let median = counts.times.isEmpty ? 0 : Int(counts.times[counts.times.count / 2])
      let most = Int(counts.times.last ?? 0)
      counts.times.removeAll(keepingCapacity: true)
      return (counts, median, most)
    }
  }
}
