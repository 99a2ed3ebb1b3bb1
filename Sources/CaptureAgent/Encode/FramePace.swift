/// Which of a source's frames are taken, so that no more than so many a second are, whatever the source
/// gives: each frame's turn comes one interval after the last one's. What comes a quarter of an interval
/// early is taken too, for sources are not that even. What comes earlier waits, until the turn is over,
/// for a newer one to take its place: of a source that is quicker by next to nothing one frame is lost now
/// and then, and none is shown late.
struct FramePace {
  /// When a frame is taken from the slot, in nanoseconds of CLOCK_MONOTONIC.
  struct Turn: Equatable {
    /// One that was put at that time or later: at once.
    var first: Int64
    /// An older one then, where none has taken its place.
    var last: Int64

    static let now = Turn(first: .min, last: .min)
  }

  /// What is drawn last is not kept waiting for longer.
  private static let patience: Int64 = 50_000_000

  private let interval: Int64
  private var due: Int64

  /// `interval` in nanoseconds.
  init(interval: Int64) {
    self.interval = interval
    due = -interval
  }

  /// When the next one is to be taken; `share`: of so many frames one.
  func next(share: Int64 = 1) -> Turn {
    let slack = interval / 4
    let due = due + (share - 1) * interval
    return Turn(first: due - slack, last: due + min(interval, Self.patience))
  }

  /// One was taken at `time`. Frames that were late have no more of them follow at once.
  mutating func took(at time: Int64) {
    due = max(due + interval, time + interval - interval / 4)
  }
}
