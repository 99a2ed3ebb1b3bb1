/// Pieces of sound as they come, made into frames of one length with their times.
struct SoundFrames {
  private let samplesPerSecond: Int
  private var clock: SoundClock
  private var frame: [Float]
  private var filled = 0
  /// Of the first sample in `frame`, in nanoseconds of CLOCK_MONOTONIC.
  private var time: Int64 = 0
  private var followsGap = false

  /// Frames of so many pairs of samples.
  init(pairs: Int, samplesPerSecond: Int) {
    self.samplesPerSecond = samplesPerSecond
    clock = SoundClock(samplesPerSecond: samplesPerSecond)
    frame = [Float](repeating: 0, count: 2 * pairs)
  }

  /// Takes samples, left and right in turn, the first of them at `claimed`; calls `body` with each whole
  /// frame, its time, and whether samples are missing before it.
  mutating func take(
    _ piece: Span<Float>, at claimed: Int64, _ body: (Span<Float>, Int64, Bool) -> Void
  ) {
    let stamp = clock.stamp(claimed, count: piece.count / 2)
    // Half a frame from before a gap would be played in the wrong place.
    if stamp.isJump { begin() }
    var taken = 0
    while taken < piece.count {
      if filled == 0 {
        time = stamp.time + Int64(taken / 2) * 1_000_000_000 / Int64(samplesPerSecond)
      }
      let count = min(piece.count - taken, frame.count - filled)
      for index in 0..<count { frame[filled + index] = piece[taken + index] }
      taken += count
      filled += count
      guard filled == frame.count else { return }
      filled = 0
      body(frame.span, time, followsGap)
      followsGap = false
    }
  }

  /// What comes next does not follow what came before.
  mutating func cut() {
    clock = SoundClock(samplesPerSecond: samplesPerSecond)
    begin()
  }

  private mutating func begin() {
    filled = 0
    followsGap = true
  }
}
