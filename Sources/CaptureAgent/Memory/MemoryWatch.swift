import Glibc
import Posix
import Report
import Wire

/// Looks at the process's own memory after each packet, and takes the ladder's steps. Loop thread only.
final class MemoryWatch {
  /// What the kernel counts and says.
  let gauge: MemoryGauge
  private let limits: MemoryLimits
  private var ladder: MemoryLadder
  private var plan: MemoryBudget
  /// The same with halved pictures.
  private var smallPlan: MemoryBudget
  /// What the first picture took beyond the plan, by both counts.
  private var unplanned = MemoryLadder.Amount(data: 0, address: 0)
  private var isVerified = false
  /// Until then nothing is judged, in nanoseconds of CLOCK_MONOTONIC; nil: all is settled.
  private var settleEnd: Int64?

  /// A sound or a camera that is switched has its memory after so long, in nanoseconds.
  private static let settleTime: Int64 = 2_000_000_000

  /// `configuration` is nil while no size is known.
  init(gauge: MemoryGauge, limits: MemoryLimits, plan: MemoryBudget) {
    self.gauge = gauge
    self.limits = limits
    self.plan = plan
    smallPlan = plan
    ladder = MemoryLadder(
      limits: (limits.dataBytes, limits.addressBytes), plan: plan.amount)
  }

  var step: MemoryStep { ladder.step }
  var plannedByteCount: Int { plan.planned }

  /// What the ladder says in one line.
  var text: String {
    let footprint = gauge.footprint()
    return
      "\(Int(ladder.pressure * 100)) % of what is above the plan: \(footprint.dataKB) kB of data, "
      + "\(footprint.sizeKB) kB mapped"
  }

  /// Pictures of another size follow.
  func expect(_ plan: MemoryBudget, halved smallPlan: MemoryBudget) {
    self.plan = plan
    self.smallPlan = smallPlan
    isVerified = false
    settleEnd = nil
    unplanned = MemoryLadder.Amount(data: 0, address: 0)
    setPlan()
  }

  /// A sound or a camera comes or goes beside the same pictures: what it takes is held against the plan once
  /// it is there, and what was taken beyond the plan before is not forgotten.
  func expectBeside(_ plan: MemoryBudget, halved smallPlan: MemoryBudget) {
    self.plan = plan
    self.smallPlan = smallPlan
    settleEnd = MonotonicClock.now() + Self.settleTime
    setPlan()
  }

  /// After each packet, for a microsecond. Answers the ladder's new step when it changed.
  func look(afterPicture: Bool) -> MemoryStep? {
    guard limits.dataBytes != nil else { return nil }
    let footprint = gauge.footprint()
    let held = MemoryLadder.Amount(
      data: footprint.dataKB << 10, address: footprint.sizeKB << 10)
    if afterPicture, !isVerified { verify(held) }
    if let settleEnd {
      guard MonotonicClock.now() >= settleEnd else { return nil }
      self.settleEnd = nil
      unplanned.data = max(unplanned.data, held.data - plan.amount.data)
      unplanned.address = max(unplanned.address, held.address - plan.amount.address)
      setPlan()
    }
    guard let step = ladder.take(held) else { return nil }
    setPlan()
    return step
  }

  /// Holds the plan against what the first picture took: the ladder stands on the larger of the two.
  private func verify(_ held: MemoryLadder.Amount) {
    isVerified = true
    let amount = plan.amount
    unplanned.data = max(0, held.data - amount.data)
    unplanned.address = max(0, held.address - amount.address)
    setPlan()
    let isOver = plan.tier == .address ? unplanned.address > 0 : unplanned.data > 0
    guard isOver else { return }
    Log.note(
      "memory: \(held.data >> 10) kB of data and \(held.address >> 10) kB mapped with the first "
        + "picture, planned \(amount.data >> 10) and \(amount.address >> 10)")
  }

  private func setPlan() {
    func amount(_ plan: MemoryBudget) -> MemoryLadder.Amount {
      MemoryLadder.Amount(
        data: plan.amount.data + unplanned.data, address: plan.amount.address + unplanned.address)
    }
    ladder.wanted = amount(plan)
    ladder.current = amount(ladder.step >= .picture ? smallPlan : plan)
  }
}
