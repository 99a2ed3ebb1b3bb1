/// How well a picture is to be coded, and what it may cost.
struct PicturePlan {
  /// QP of macroblocks whose source changed.
  var qp: Int
  /// The fidelity that macroblocks whose source did not change are brought to.
  var stillQP: Int
  /// Bits that may be spent on bringing them there.
  var refinementBits: Int
  /// Bits after which the rest of the picture is coded more coarsely.
  var softLimitBits: Int
  /// The coarsest QP for that.
  var largestQP: Int

  /// One QP for everything, whatever it costs.
  static func constant(qp: Int) -> PicturePlan {
    PicturePlan(
      qp: qp, stillQP: qp, refinementBits: .max, softLimitBits: .max, largestQP: qp)
  }
}
