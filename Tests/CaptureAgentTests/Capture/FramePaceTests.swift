import Testing

@testable import CaptureAgent

/// A cap on the rate of frames, against sources of any rate.
@Suite struct FramePaceTests {
  private static let second: Int64 = 1_000_000_000

  /// A source that draws so many times a second, and what is taken of it in 100 s: when each was put, and
  /// when it was taken.
  private func run(
    _ source: Double, cappedAt fps: Int64, jitter: Int64 = 0, seconds: Int64 = 100
  ) -> [(put: Int64, taken: Int64)] {
    var pace = FramePace(interval: Self.second / fps)
    var taken: [(put: Int64, taken: Int64)] = []
    var waiting: Int64?
    for number in 0..<Int(source * Double(seconds)) {
      let shake = jitter == 0 ? 0 : Int64(number &* 7919 % 13 - 6) * jitter / 6
      let now = Int64(Double(number) * 1e9 / source) + shake
      if let older = waiting, pace.next().last <= now {
        taken.append((older, max(older, pace.next().last)))
        pace.took(at: max(older, pace.next().last))
        waiting = nil
      }
      if now >= pace.next().first {
        taken.append((now, now))
        pace.took(at: now)
        waiting = nil
      } else {
        waiting = now
      }
    }
    if let waiting { taken.append((waiting, pace.next().last)) }
    return taken
  }

  @Test(arguments: [
    (24, 30, 24), (29.97, 30, 29.97), (30, 30, 30), (30.003, 30, 30), (31, 30, 30), (45, 30, 30),
    (59.94, 30, 29.97), (60, 30, 30), (60, 24, 24), (144, 30, 30), (144, 60, 60), (60, 60, 60),
    (240, 25, 25), (30, 5, 5),
  ])
  func `no more frames than asked for are taken, and none late`(
    _ source: Double, _ fps: Int64, _ wanted: Double
  ) {
    let taken = run(source, cappedAt: fps)
    let rate = Double(taken.count) / 100
    // A source that is a little too quick loses a frame where it has got too far ahead: 3 % at most.
    #expect(rate > wanted * 0.97 && taken.count <= fps * 100 + 2, "\(rate)")
    let late = taken.dropLast().filter { $0.taken > $0.put }
    #expect(late.isEmpty, "\(late.count) of \(taken.count)")
  }

  @Test(arguments: [(30.0, 30), (60, 30), (60, 60), (59.94, 60)] as [(Double, Int64)])
  func `a source that is uneven by a sixth of an interval loses next to nothing`(
    _ source: Double, _ fps: Int64
  ) {
    let wanted = min(source, Double(fps))
    let taken = run(source, cappedAt: fps, jitter: Self.second / fps / 6)
    #expect(Double(taken.count) / 100 > wanted * 0.97)
  }

  @Test(arguments: [24, 30, 60] as [Int64])
  func `what is drawn last is taken within 100 ms`(_ fps: Int64) {
    for source in [30.0, 59.94, 60, 75, 144, 240] {
      for seconds in 1...20 as ClosedRange<Int64> {
        let taken = run(source + Double(seconds) / 7, cappedAt: fps, seconds: seconds)
        let last = taken[taken.count - 1]
        #expect(last.taken - last.put < 100_000_000)
      }
    }
  }
}
