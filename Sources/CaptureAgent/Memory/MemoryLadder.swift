import Wire

/// What is given up as memory gets scarce: one step after the other, each undone when the pressure
/// falls.
///
/// Pressure is what the process holds beyond its plan, as a part of what lies between the plan and the
/// limit, for whichever enforced limit is nearer. It knows no clock and no kernel.
struct MemoryLadder {
  /// Bytes by the two counts that limits are set on.
  struct Amount: Equatable, Sendable {
    var data: Int
    var address: Int
  }

  /// The pressure at which each step begins.
  private static let beginnings: [(step: MemoryStep, pressure: Double)] = [
    (.queues, 0.60), (.rate, 0.75), (.picture, 0.85), (.end, 0.95),
  ]
  /// A step ends this much below its beginning, or it would come and go with each frame.
  private static let slack = 0.10

  /// nil is no limit.
  private let limits: (data: Int?, address: Int?)
  /// Of the picture that is wanted: what the steps are measured on.
  var wanted: Amount
  /// Of the picture at hand, which is less once it was made smaller.
  var current: Amount
  private(set) var step = MemoryStep.rest
  /// The last pressure, 1 being the limit.
  private(set) var pressure = 0.0

  init(limits: (data: Int?, address: Int?), plan: Amount) {
    self.limits = limits
    wanted = plan
    current = plan
  }

  /// Takes what the process holds now. Answers the new step when it changed; however much came at once,
  /// steps are taken one at a time.
  mutating func take(_ held: Amount) -> MemoryStep? {
    pressure = max(
      share(held.data, current.data, of: wanted.data, limits.data),
      share(held.address, current.address, of: wanted.address, limits.address))
    // A smaller picture has made room: the end comes when that is used up too.
    let last = max(
      share(held.data, current.data, of: current.data, limits.data),
      share(held.address, current.address, of: current.address, limits.address))
    let before = step
    if let next = Self.beginnings.first(where: { $0.step > step }) {
      let reached = next.step == .end ? last : pressure
      if reached >= next.pressure { step = next.step }
    }
    if step == before, let last = Self.beginnings.last(where: { $0.step <= step }),
      pressure < last.pressure - Self.slack
    {
      step = MemoryStep(rawValue: step.rawValue - 1) ?? .rest
    }
    return step == before ? nil : step
  }

  /// What `held` is above its plan, as a part of the room above `plan`.
  private func share(_ held: Int, _ current: Int, of plan: Int, _ limit: Int?) -> Double {
    guard let limit, limit > plan else { return 0 }
    return Double(held - current) / Double(limit - plan)
  }
}
