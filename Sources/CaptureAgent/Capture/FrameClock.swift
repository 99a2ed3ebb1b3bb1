/// When a source's pictures were made: as it says where that can be right, else by when they came. In
/// nanoseconds of CLOCK_MONOTONIC, and rising whatever it says.
struct FrameClock {
  // A source's first word is not believed beyond this much.
  private static let oldest: Int64 = 5_000_000_000
  // A picture that took so much longer than the quickest one has another clock's time, which would be apart
  // from the sound's for good; one that was held up that long is late by it once.
  static let tolerance: Int64 = 100_000_000

  /// Times that were said and could not be right.
  private(set) var mistimedCount = 0
  private var last: Int64 = 0
  private var lastSaid = Int64.min
  /// The least that a picture took to come; nil before one had a time that can be right.
  private var delay: Int64?

  /// Of a picture that came `now` and was made, says its source, at `said`.
  mutating func time(said: Int64?, now: Int64) -> Int64 {
    let made = said.flatMap { believe($0, now: now) } ?? now - (delay ?? 0)
    last = max(made, last + 1)
    return last
  }

  private mutating func believe(_ said: Int64, now: Int64) -> Int64? {
    let isNew = said > lastSaid
    lastSaid = said
    let limit = delay.map { $0 + Self.tolerance } ?? Self.oldest
    guard isNew, said <= now, said >= now - limit else {
      mistimedCount += 1
      return nil
    }
    delay = min(delay ?? .max, now - said)
    return said
  }
}
