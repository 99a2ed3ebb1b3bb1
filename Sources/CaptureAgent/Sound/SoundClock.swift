/// Time stamps for samples that come in pieces: what PipeWire says of each piece, smoothed, so that a
/// late callback is not heard and a device whose clock is off is followed.
struct SoundClock {
  /// The time of a piece of samples.
  struct Stamp: Equatable {
    /// Of its first sample, in nanoseconds of CLOCK_MONOTONIC.
    let time: Int64
    /// It does not follow the piece before it: samples are missing between them.
    let isJump: Bool
  }

  // More than that is no jitter: two cycles of a graph at its usual length.
  private static let tolerance: Int64 = 45_000_000
  // Each piece brings the clock nearer to what was said by its share of this time, in nanoseconds, however
  // short it is; a long one by a 16th, so that the step is not heard.
  private static let smoothing: Int64 = 340_000_000

  private let samplesPerSecond: Int64
  /// When the next piece begins, should nothing be missing.
  private var next: Int64?

  init(samplesPerSecond: Int) { self.samplesPerSecond = Int64(samplesPerSecond) }

  /// The time of the next `count` samples, of which `claimed` was said.
  mutating func stamp(_ claimed: Int64, count: Int) -> Stamp {
    let length = Int64(count) * 1_000_000_000 / samplesPerSecond
    guard let expected = next, abs(claimed - expected) <= Self.tolerance else {
      // The first piece is no jump, for nothing was there before it.
      let isJump = next != nil
      next = claimed + length
      return Stamp(time: claimed, isJump: isJump)
    }
    let share = (claimed - expected) * min(length, Self.smoothing / 16)
    // Away from zero, or what rounding loses with each short piece would add up.
    let time = expected + (share + share.signum() * (Self.smoothing - 1)) / Self.smoothing
    next = time + length
    return Stamp(time: time, isJump: false)
  }
}
