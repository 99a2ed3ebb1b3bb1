import Testing
import Wire

@testable import CaptureAgent

/// The ladder alone, on a gauge that is a number: a plan of 40 MB under a limit of 50.
struct MemoryLadderTests {
  private static let plan = MemoryLadder.Amount(data: 10_000_000, address: 40_000_000)
  private static let limits: (data: Int?, address: Int?) = (50_000_000, 50_000_000)

  /// What an agent holds that is so far above its plan, 1 being the limit on addresses.
  private func held(_ pressure: Double) -> MemoryLadder.Amount {
    MemoryLadder.Amount(data: 10_000_000, address: 40_000_000 + Int(pressure * 10_000_000))
  }

  @Test("at the plan, and below it, nothing is given up")
  func rest() {
    var ladder = MemoryLadder(limits: Self.limits, plan: Self.plan)
    for pressure in [-0.5, 0, 0.3, 0.59] { #expect(ladder.take(held(pressure)) == nil) }
    #expect(ladder.step == .rest)
  }

  @Test("a leak walks every step in order, at 60, 75, 85 and 95 %")
  func leak() {
    var ladder = MemoryLadder(limits: Self.limits, plan: Self.plan)
    var steps: [MemoryStep] = []
    var begun: [Int] = []
    for percent in 0...100 {
      guard let step = ladder.take(held(Double(percent) / 100)) else { continue }
      steps.append(step)
      begun.append(percent)
    }
    #expect(steps == [.queues, .rate, .picture, .end])
    #expect(begun == [60, 75, 85, 95])
  }

  @Test("however much comes at once, steps are taken one at a time")
  func jump() {
    var ladder = MemoryLadder(limits: Self.limits, plan: Self.plan)
    let steps = (0..<5).map { _ in ladder.take(held(0.99)) }
    #expect(steps == [.queues, .rate, .picture, .end, nil])
  }

  @Test("each step is undone when the pressure falls, and not before it fell well below")
  func undone() {
    var ladder = MemoryLadder(limits: Self.limits, plan: Self.plan)
    for _ in 0..<3 { _ = ladder.take(held(0.9)) }
    #expect(ladder.step == .picture)
    #expect(ladder.take(held(0.80)) == nil)
    #expect(ladder.take(held(0.74)) == .rate)
    #expect(ladder.take(held(0.74)) == nil)
    #expect(ladder.take(held(0.64)) == .queues)
    #expect(ladder.take(held(0.49)) == .rest)
  }

  @Test("a smaller picture makes room, and the end comes when that is used up too")
  func smallerPicture() {
    var ladder = MemoryLadder(limits: Self.limits, plan: Self.plan)
    for _ in 0..<3 { _ = ladder.take(held(0.9)) }
    ladder.current.address = 30_000_000
    // As much is held beyond the plan as before: neither worse nor better.
    #expect(ladder.take(MemoryLadder.Amount(data: 10_000_000, address: 39_000_000)) == nil)
    #expect(ladder.take(MemoryLadder.Amount(data: 10_000_000, address: 48_900_000)) == nil)
    #expect(ladder.take(MemoryLadder.Amount(data: 10_000_000, address: 49_100_000)) == .end)
  }

  @Test("the nearer of two limits counts, and one that is not set does not")
  func nearer() {
    let data = MemoryLadder.Amount(data: 40_000_000, address: 90_000_000)
    var both = MemoryLadder(limits: Self.limits, plan: Self.plan)
    #expect(both.take(MemoryLadder.Amount(data: 40_000_000, address: 41_000_000)) == .queues)
    var one = MemoryLadder(limits: (50_000_000, nil), plan: Self.plan)
    #expect(one.take(data) == .queues)
    #expect(one.take(data) == .rate)
    #expect(one.take(data) == nil)
    var none = MemoryLadder(limits: (nil, nil), plan: Self.plan)
    #expect(none.take(data) == nil)
  }
}
