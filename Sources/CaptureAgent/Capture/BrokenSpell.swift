/// Whether a source gives nothing but broken pictures: some have come over two seconds, and no whole one
/// among them. A screen that stands still after one of them is no such source.
struct BrokenSpell {
  private static let patience: Int64 = 2_000_000_000

  /// When the first of them came, in nanoseconds of CLOCK_MONOTONIC.
  private var began: Int64?
  private var isTold = false

  /// One came at that time. Whether it is to be told of now.
  mutating func sawBroken(now: Int64) -> Bool {
    guard let began else {
      began = now
      return false
    }
    guard !isTold, now - began >= Self.patience else { return false }
    isTold = true
    return true
  }

  /// A whole one came. Whether it is to be told of that, since the others were.
  mutating func sawWhole() -> Bool {
    defer { isTold = false }
    began = nil
    return isTold
  }
}
