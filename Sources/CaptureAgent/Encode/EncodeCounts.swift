import Synchronization

/// What the encoder's thread has done, for the status; written there, read on the loop.
final class EncodeCounts: Sendable {
  struct Counts {
    var encoded = 0
    var unchanged = 0
    var failed = 0
    var keyframes = 0
    var bytesCopied = 0
    /// What the thread has asked the allocator for, in calls.
    var allocations = 0
    /// The rate that the encoder keeps to; 0 before its first picture.
    var bitsPerSecond = 0
    /// Microseconds from the frame's taking to its access unit, of the last pictures.
    fileprivate var times: [UInt32] = []
  }

  // Two seconds at 60 frames a second; the loop empties it once a second.
  private static let timeCapacity = 128
  private let counts: Mutex<Counts>
  private let busySince = Atomic<Int64>(0)

  init() {
    var counts = Counts()
    counts.times.reserveCapacity(Self.timeCapacity)
    self.counts = Mutex(counts)
  }

  /// The thread begins with a picture, or is done with it: 0.
  func setBusy(since time: Int64) { busySince.store(time, ordering: .relaxed) }

  /// For how many nanoseconds the thread has been at one picture.
  func busyTime(now: Int64) -> Int64 {
    let since = busySince.load(ordering: .relaxed)
    return since == 0 ? 0 : now - since
  }

  /// By the encoder's thread; `body` runs under the lock that the loop takes too.
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
