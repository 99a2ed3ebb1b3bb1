/// How long a library's calls into this process took. They are to hand on what comes, and to wait for
/// nothing.
package struct CallbackTimes: Equatable, Sendable {
  /// Longer is too long, in nanoseconds.
  package static let limit: Int64 = 1_000_000

  /// Nanoseconds.
  package private(set) var longest: Int64 = 0
  /// Those over the limit.
  package private(set) var slowCount = 0

  package init() {}

  mutating func add(_ time: Int64) {
    longest = max(longest, time)
    if time > Self.limit { slowCount += 1 }
  }

  /// Of two streams one after the other.
  package func merged(with other: CallbackTimes) -> CallbackTimes {
    var sum = self
    sum.longest = max(longest, other.longest)
    sum.slowCount += other.slowCount
    return sum
  }
}
