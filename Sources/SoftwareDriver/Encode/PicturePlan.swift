/// How well a picture is to be coded, and what it may cost.
struct PicturePlan {
  /// QP of macroblocks whose source changed; grows when the picture comes out too long.
  private(set) var qp: Int
  /// The fidelity that macroblocks whose source did not change are brought to.
  let stillQP: Int
  /// Bits left for bringing them there.
  var refinementBits: Int
  /// What the changed macroblocks should cost at most.
  private let limitBits: Int
  private let largestQP: Int
  /// Macroblocks whose source changed: in the picture, and coded so far with their bits.
  private let changedCount: Int
  private var codedCount = 0
  private var codedBits = 0
  private var qpSum = 0

  /// One QP for everything, whatever it costs.
  init(constantQP qp: Int) {
    self.init(
      qp: qp, stillQP: qp, refinementBits: .max, limitBits: .max, largestQP: qp, changedCount: 0)
  }

  init(
    qp: Int, stillQP: Int, refinementBits: Int, limitBits: Int, largestQP: Int, changedCount: Int
  ) {
    self.qp = qp
    self.stillQP = stillQP
    self.refinementBits = refinementBits
    self.limitBits = limitBits
    self.largestQP = largestQP
    self.changedCount = changedCount
  }

  mutating func noteChanged(bits: Int) {
    codedCount &+= 1
    codedBits &+= bits
    qpSum &+= qp
  }

  /// What the changed macroblocks took.
  var changedBits: Int { codedBits }

  /// Over the changed macroblocks; the plan's when none changed.
  var meanQP: Double { codedCount == 0 ? Double(qp) : Double(qpSum) / Double(codedCount) }

  /// Called between rows: coarsens the rest when the picture is on its way past the limit.
  mutating func adapt() {
    // A twentieth of the macroblocks says enough to judge by.
    guard codedCount > changedCount / 20, codedBits < .max >> 20 else { return }
    if codedBits / codedCount * changedCount > limitBits { qp = min(qp + 2, largestQP) }
  }

  /// The plan for coding the picture once more after it did not fit, six QP coarser.
  func coarser() -> PicturePlan? {
    guard qp < 51 else { return nil }
    return PicturePlan(
      qp: min(qp + 6, 51), stillQP: min(stillQP + 6, 51), refinementBits: 0, limitBits: limitBits,
      largestQP: 51, changedCount: changedCount)
  }
}
