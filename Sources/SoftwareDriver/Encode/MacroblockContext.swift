/// What CABAC's contexts ask of the macroblock at the left and of the one above
/// (clause 9.3.3.1.1).
struct MacroblockContext: BitwiseCopyable {
  /// coded_block_flag: 16 luma blocks, then four of Cb and four of Cr in raster order, then the DC
  /// blocks of luma, Cb and Cr.
  var coded: UInt32 = 0
  /// coded_block_pattern, chroma's part from bit 4.
  var pattern: UInt8 = 0
  /// The motion vector difference's magnitudes in quarter samples, cut off at 255.
  var motion = SIMD2<UInt8>(0, 0)
  var traits: Traits = []

  struct Traits: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    static let isCoded = Traits(rawValue: 1)
    /// Any type but I_NxN.
    static let isWhole = Traits(rawValue: 2)
    /// intra_chroma_pred_mode is not 0.
    static let hasChromaMode = Traits(rawValue: 4)
  }

  static let lumaDC = 24
  static let chromaDC = 25

  static let skipped = MacroblockContext()
  static let pcm = MacroblockContext(coded: .max, pattern: 0x2f, traits: [.isCoded, .isWhole])

  /// What stands for a neighbour outside the picture.
  @inline(__always) static func outside(isIntra: Bool) -> MacroblockContext {
    MacroblockContext(coded: isIntra ? .max : 0, pattern: 0x0f)
  }

  /// coded_block_flag of a block, as `coded` counts them.
  @inline(__always) func flag(_ block: Int) -> Int { Int(coded &>> UInt32(block) & 1) }

  /// 1 or 0, as condTermFlags are summed.
  @inline(__always) func has(_ trait: Traits) -> Int { traits.contains(trait) ? 1 : 0 }
}

/// The macroblocks at the left and above.
struct ContextNeighbours {
  let left: MacroblockContext
  let above: MacroblockContext

  /// condTermFlagA + condTermFlagB.
  @inline(__always) func count(of trait: MacroblockContext.Traits) -> Int {
    left.has(trait) &+ above.has(trait)
  }

  /// coded_block_flag of the same block at the left, and twice that above.
  @inline(__always) func flags(_ block: Int) -> Int {
    left.flag(block) &+ 2 &* above.flag(block)
  }
}

/// The contexts of the row under way and of the row above, which take turns in one table, so that a
/// macroblock can be written once more.
struct ContextRows {
  private let table: Table<MacroblockContext>
  private let columns: Int

  init(columns: Int) throws(DriverError) {
    table = try Table(count: 2 * columns)
    self.columns = columns
  }

  /// Keeps what the macroblock below and the one at the right will ask of this one.
  @inline(__always)
  func note(_ context: MacroblockContext, column: Int, row: Int) {
    table[(row & 1) &* columns &+ column] = context
  }

  /// `isIntra` is of the macroblock that asks.
  @inline(__always)
  func around(isIntra: Bool, column: Int, row: Int) -> ContextNeighbours {
    let outside = MacroblockContext.outside(isIntra: isIntra)
    return ContextNeighbours(
      left: column > 0 ? table[(row & 1) &* columns &+ column &- 1] : outside,
      above: row > 0 ? table[(~row & 1) &* columns &+ column] : outside)
  }
}
