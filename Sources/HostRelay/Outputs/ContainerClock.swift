import Posix

/// A container's clock: ticks of 90 kHz from near 0, so that the 33 bits of a PTS last for 26 hours.
///
/// Pictures lie at least `spacing` apart. Where two came closer the second is moved a little, since
/// players and tools that count in whole pictures would lose one of them.
struct ContainerClock {
  /// Pictures that come too fast for long are no jitter, and are not moved.
  private static let mostMoved = Self.ticks(.milliseconds(100))

  private var start: Int64?
  private var last: Int64?

  /// The time of a picture whose output PTS is `pts`, in nanoseconds.
  mutating func time(of pts: Int64, spacing: Duration) -> Int64 {
    let start = start ?? pts
    self.start = start
    let exact = max(0, (pts - start) / 100_000 * 9 + (pts - start) % 100_000 * 9 / 100_000)
    var time = exact
    if let last {
      let earliest = last + Self.ticks(spacing)
      if earliest > exact, earliest - exact <= Self.mostMoved { time = earliest }
      time = max(time, last + 1)
    }
    last = time
    return time
  }

  /// The time of a sound's packet whose output PTS is `pts`; nil before the first picture.
  func soundTime(of pts: Int64) -> Int64? {
    guard let start, pts >= start else { return nil }
    return Self.ticks(.nanoseconds(pts - start))
  }

  /// The time of a picture that follows the last one as closely as may be.
  mutating func timeAfter(spacing: Duration) -> Int64 {
    let time = (last ?? 0) + max(1, Self.ticks(spacing))
    last = time
    return time
  }

  private static func ticks(_ duration: Duration) -> Int64 {
    (duration.nanoseconds * 9 + 50_000) / 100_000
  }
}
