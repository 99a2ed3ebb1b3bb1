import Testing

@testable import CaptureAgent

/// BL-15: what a source says of its pictures' times, and what is made of it.
struct FrameClockTests {
  private static let start: Int64 = 1_000_000_000_000
  private static let frame: Int64 = 33_000_000
  private static let delay: Int64 = 4_000_000

  /// Pictures that took 4 ms to come, whose source is off by `offset(index)`.
  private func times(
    _ indices: Range<Int>, of clock: inout FrameClock, offset: (Int) -> Int64?
  ) -> [Int64] {
    indices.map { index in
      let made = Self.start + Int64(index) * Self.frame
      return clock.time(said: offset(index).map { made &+ $0 }, now: made + Self.delay) - made
    }
  }

  @Test func `a time that can be right is kept, and held up or not`() {
    var clock = FrameClock()
    #expect(times(0..<5, of: &clock) { _ in 0 } == [0, 0, 0, 0, 0])
    let made = Self.start + 5 * Self.frame
    #expect(clock.time(said: made, now: made + FrameClock.tolerance + Self.delay) == made)
    #expect(clock.mistimedCount == 0)
  }

  // A clock that had gone back by less than five seconds was followed: the picture was late by as much for
  // good, and the sound was not.
  @Test(
    arguments: [-1_000_000_000, -300_000_000, -10_000_000_000, 1, 86_400_000_000_000] as [Int64])
  func `a clock that jumps is left for that of this machine, at once`(_ jump: Int64) {
    var clock = FrameClock()
    _ = times(0..<5, of: &clock) { _ in 0 }
    for time in times(5..<100, of: &clock, offset: { _ in jump }) {
      #expect(abs(time) <= Self.delay)
    }
    // And found again.
    #expect(times(100..<105, of: &clock) { _ in 0 } == [0, 0, 0, 0, 0])
  }

  @Test func `times that stand still, or are none, rise with this machine's`() {
    var clock = FrameClock()
    _ = times(0..<5, of: &clock) { _ in 0 }
    let standing = times(5..<100, of: &clock) { Int64(5 - $0) * Self.frame }
    #expect(standing.allSatisfy { abs($0) <= Self.delay })
    #expect(clock.mistimedCount == 94)
    let missing = times(100..<110, of: &clock) { _ in nil }
    #expect(missing.allSatisfy { abs($0) <= Self.delay })
    #expect(clock.mistimedCount == 94, "who says nothing says nothing wrong")
  }

  @Test func `whatever is said, times rise`() {
    var clock = FrameClock()
    var last: Int64 = 0
    let said: [Int64?] = [.max, 1, nil, 5, .max, Self.start, Self.start - 1, nil, 1]
    for index in 0..<100 {
      let now = Self.start + Int64(index / 3) * 1_000_000
      let time = clock.time(said: said[index % said.count], now: now)
      #expect(time > last && time <= now + 100)
      last = time
    }
  }
}
