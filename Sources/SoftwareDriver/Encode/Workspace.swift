internal import CPixelKernels

/// Memory for the macroblock under way, and tables that never change. Of what a macroblock may be
/// decided to be there are two sets, so that two decisions can be weighed against each other.
final class Workspace {
  /// By set: 16 luma blocks, in raster order, of 16 levels, in zig-zag order.
  let luma: Table<Int16>
  /// By set: four blocks of Cb, four of Cr.
  let chroma: Table<Int16>
  /// By set: 16 levels.
  let lumaDCLevels: Table<Int16>
  /// By set: four levels of Cb, four of Cr.
  let chromaDCLevels: Table<Int16>
  /// A bit for each level other than 0: by set the 16 luma blocks, the eight of chroma, the DC levels
  /// of luma and those of Cb and Cr.
  let masks: Table<UInt16>
  /// By set: the mode of each 4x4 block in raster order.
  let modes: Table<UInt8>
  /// By set: how each mode is said, in coding order: `PictureEncoder.likelyModeCode`, or
  /// rem_intra4x4_pred_mode.
  let modeCodes: Table<UInt8>
  /// Four of a search's step.
  let sads: Table<UInt32>
  let lumaDC: Table<Int16>
  let chromaDC: Table<Int16>
  /// A luma prediction for each Intra_16x16 mode, 256 bytes each.
  let lumaPrediction: Table<UInt8>
  /// A 4x4 block's.
  let blockPrediction: Table<UInt8>
  /// A chroma prediction for each intra chroma mode, 128 bytes each; inter uses the first.
  let chromaPrediction: Table<UInt8>
  /// The reconstruction that is best so far, 16 rows of luma and 8 of chroma, 16 bytes each.
  let kept: Table<UInt8>
  /// By QP * 2, plus 1 for inter.
  let quantizers: Table<porthole_quantizer>
  let codes: CodeTables
  /// The memory of `CABACStates`.
  let cabac: Table<UInt8>
  let thresholds: DeblockingThresholds
  private let lambdas: Table<Int32>
  private let steps: Table<Int32>
  private let bitCosts: Table<Int32>

  init() throws(DriverError) {
    luma = try Table(count: 2 * 256)
    chroma = try Table(count: 2 * 128)
    lumaDCLevels = try Table(count: 2 * 16)
    chromaDCLevels = try Table(count: 2 * 8)
    masks = try Table(count: 2 * Self.masksPerSet)
    modes = try Table(count: 2 * 16)
    modeCodes = try Table(count: 2 * 16)
    sads = try Table(count: 4)
    lumaDC = try Table(count: 16)
    chromaDC = try Table(count: 8)
    lumaPrediction = try Table(count: 4 * 256)
    blockPrediction = try Table(count: 16)
    kept = try Table(count: 256 + 128)
    chromaPrediction = try Table(count: 4 * 128)
    quantizers = try Table(count: 52 * 2)
    codes = try CodeTables()
    cabac = try Table(count: CABACStates.byteCount)
    thresholds = try DeblockingThresholds()
    lambdas = try Table(count: 52)
    steps = try Table(count: 52)
    bitCosts = try Table(count: 52)
    for qp in 0..<52 {
      unsafe porthole_make_quantizer(Int32(qp), 30, 42, quantizers.pointer(at: 2 * qp))
      unsafe porthole_make_quantizer(Int32(qp), 24, 60, quantizers.pointer(at: 2 * qp + 1))
      // Steps double every six QP; lambda is 1 at QP 12 and grows as the step.
      let step = Self.firstSteps[qp % 6] * Double(1 << (qp / 6))
      lambdas[qp] = Int32(max(1, step / 2.5))
      steps[qp] = Int32(step * step)
      // Where the slope of distortion over rate is seen to lie: 0.136 of the square of the step.
      bitCosts[qp] = Int32(max(1, step * step * 0.136))
    }
  }

  /// Where the masks of a set are: luma, then these.
  static let chromaMasks = 16
  static let lumaDCMask = 24
  static let chromaDCMasks = 25
  static let masksPerSet = 32

  /// SAD that one bit is worth.
  @inline(__always) func lambda(qp: Int) -> Int { Int(lambdas[qp]) }

  /// Squared differences that one bit is worth.
  @inline(__always) func bitCost(qp: Int) -> Int { Int(bitCosts[qp]) }

  /// The square of the quantiser's step.
  @inline(__always) func squaredSteps(qp: Int) -> Int { Int(steps[qp]) }

  /// The quantiser's steps at QP 0 to 5.
  static let firstSteps = [0.625, 0.6875, 0.8125, 0.875, 1, 1.125]
}

/// QPC for a luma QP (clause 8.5.8, table 8-15).
func chromaQP(luma: Int, offset: Int) -> Int {
  let index = min(max(luma &+ offset, 0), 51)
  guard index >= 30 else { return index }
  // 30 to 51, four bits each above 29.
  let steps: [22 of UInt8] = [
    29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39,
  ]
  return Int(steps[index &- 30])
}
