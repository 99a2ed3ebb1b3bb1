internal import CPixelKernels

/// Memory for the macroblock under way, and tables that never change.
struct Workspace {
  /// 16 luma blocks of 16 levels.
  let luma: Table<Int16>
  /// Four blocks of Cb, four of Cr.
  let chroma: Table<Int16>
  let lumaDC: Table<Int16>
  let lumaDCLevels: Table<Int16>
  let chromaDC: Table<Int16>
  let chromaDCLevels: Table<Int16>
  /// One block in zig-zag order.
  let ordered: Table<Int16>
  /// A luma prediction for each Intra_16x16 mode, 256 bytes each.
  let lumaPrediction: Table<UInt8>
  /// A chroma prediction for each intra chroma mode, 128 bytes each; inter uses the first.
  let chromaPrediction: Table<UInt8>
  /// By QP * 2, plus 1 for inter.
  let quantizers: Table<porthole_quantizer>
  let codes: CodeTables
  let thresholds: DeblockingThresholds
  private let lambdas: Table<Int32>
  private let steps: Table<Int32>

  init() throws(DriverError) {
    luma = try Table(count: 256)
    chroma = try Table(count: 128)
    lumaDC = try Table(count: 16)
    lumaDCLevels = try Table(count: 16)
    chromaDC = try Table(count: 8)
    chromaDCLevels = try Table(count: 8)
    ordered = try Table(count: 16)
    lumaPrediction = try Table(count: 4 * 256)
    chromaPrediction = try Table(count: 4 * 128)
    quantizers = try Table(count: 52 * 2)
    codes = try CodeTables()
    thresholds = try DeblockingThresholds()
    lambdas = try Table(count: 52)
    steps = try Table(count: 52)
    for qp in 0..<52 {
      unsafe porthole_make_quantizer(Int32(qp), 21, quantizers.pointer(at: 2 * qp))
      unsafe porthole_make_quantizer(Int32(qp), 11, quantizers.pointer(at: 2 * qp + 1))
      // Steps double every six QP; lambda is 1 at QP 12 and grows as the step.
      let step = Self.firstSteps[qp % 6] * Double(1 << (qp / 6))
      lambdas[qp] = Int32(max(1, step / 2.5))
      steps[qp] = Int32(step * step)
    }
  }

  /// SAD that one bit is worth.
  @inline(__always) func lambda(qp: Int) -> Int { Int(lambdas[qp]) }

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
