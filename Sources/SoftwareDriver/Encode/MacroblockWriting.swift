internal import CPixelKernels

/// The residual syntax of a macroblock (clause 7.3.5.3), and the contexts it keeps.
extension PictureEncoder {
  /// Where a macroblock's counts of levels start: 16 luma blocks, 4 Cb, 4 Cr, in raster order.
  static let countsPerMacroblock = 24

  /// Ends the run of skipped macroblocks before a coded one; I slices have none.
  mutating func putSkipRun(_ job: borrowing PictureJob, into sink: inout BitSink) {
    guard job.reference != nil else { return }
    sink.putUE(skipRun)
    skipRun = 0
  }

  /// mb_qp_delta, modulo 52 (clause 7.4.5).
  mutating func putQPDelta(to qp: Int, into sink: inout BitSink) {
    var delta = qp - lastQP
    if delta > 25 { delta -= 52 }
    if delta < -26 { delta += 52 }
    sink.putSE(delta)
    lastQP = qp
  }

  /// The 16 levels that Intra_16x16 codes first.
  mutating func putLumaDC(column: Int, row: Int, into sink: inout BitSink) {
    let mask = unsafe porthole_zigzag(work.lumaDCLevels.pointer(), work.ordered.pointer())
    let nC = neighbourCount(column: column, row: row, x: 0, y: 0, plane: 0, width: 4)
    let block = unsafe ResidualBlock(
      levels: UnsafePointer(work.ordered.pointer()), mask: mask, size: 16)
    sink.put(block, tokenClass: CodeTables.tokenClass(nC: nC), tables: work.codes)
  }

  /// Luma blocks of each 8x8 whose bit stands in `pattern`; `first` is 1 where DC is apart.
  /// Answers the blocks with levels, in raster order.
  mutating func putLuma(
    column: Int, row: Int, pattern: Int, blocks: UInt32, first: Int, into sink: inout BitSink
  ) -> UInt16 {
    var coded: UInt16 = 0
    for quarter in 0..<4 where pattern &>> quarter & 1 == 1 {
      for part in 0..<4 {
        let x = (quarter & 1) &* 2 &+ (part & 1)
        let y = (quarter & 2) &+ (part &>> 1)
        let index = y &* 4 &+ x
        var mask: UInt32 = 0
        if blocks &>> UInt32(index) & 1 == 1 {
          mask =
            unsafe porthole_zigzag(
              work.luma.pointer(at: 16 &* index), work.ordered.pointer()) &>> UInt32(first)
        }
        let nC = neighbourCount(column: column, row: row, x: x, y: y, plane: 0, width: 4)
        let block = unsafe ResidualBlock(
          levels: UnsafePointer(work.ordered.pointer(at: first)), mask: mask, size: 16 &- first)
        sink.put(block, tokenClass: CodeTables.tokenClass(nC: nC), tables: work.codes)
        setCount(column: column, row: row, at: index, to: block.count)
        if mask != 0 { coded |= 1 &<< UInt16(index) }
      }
    }
    return coded
  }

  /// Chroma DC and, with pattern 2, AC levels.
  mutating func putChroma(
    column: Int, row: Int, pattern: Int, blocks: UInt32, into sink: inout BitSink
  ) {
    guard pattern > 0 else { return }
    for component in 0..<2 {
      let levels = unsafe UnsafePointer(work.chromaDCLevels.pointer(at: component &* 4))
      var mask: UInt32 = 0
      for index in 0..<4 where unsafe levels[index] != 0 { mask |= 1 &<< UInt32(index) }
      let block = unsafe ResidualBlock(levels: levels, mask: mask, size: 4)
      sink.put(block, tokenClass: CodeTables.chromaDCClass, tables: work.codes)
    }
    guard pattern == 2 else { return }
    for index in 0..<8 {
      var mask: UInt32 = 0
      if blocks &>> UInt32(index) & 1 == 1 {
        mask =
          unsafe porthole_zigzag(
            work.chroma.pointer(at: 16 &* index), work.ordered.pointer()) &>> 1
      }
      let plane = 16 &+ (index & 4)
      let nC = neighbourCount(
        column: column, row: row, x: index & 1, y: index &>> 1 & 1, plane: plane, width: 2)
      let block = unsafe ResidualBlock(
        levels: UnsafePointer(work.ordered.pointer(at: 1)), mask: mask, size: 15)
      sink.put(block, tokenClass: CodeTables.tokenClass(nC: nC), tables: work.codes)
      setCount(column: column, row: row, at: 16 &+ index, to: block.count)
    }
  }

  /// nC of clause 9.2.1 for block (`x`, `y`) of a plane whose counts are `width` a row.
  @inline(__always) private func neighbourCount(
    column: Int, row: Int, x: Int, y: Int, plane: Int, width: Int
  ) -> Int {
    let each = Self.countsPerMacroblock
    let start = (row &* columns &+ column) &* each &+ plane
    let inRow = y &* width
    var left: Int?
    if x > 0 {
      left = start &+ inRow &+ x &- 1
    } else if column > 0 {
      left = start &- each &+ inRow &+ width &- 1
    }
    var above: Int?
    if y > 0 {
      above = start &+ inRow &- width &+ x
    } else if row > 0 {
      above = start &- columns &* each &+ (width &- 1) &* width &+ x
    }
    switch (left, above) {
    case (let left?, let above?): return (Int(counts[left]) &+ Int(counts[above]) &+ 1) &>> 1
    case (let left?, nil): return Int(counts[left])
    case (nil, let above?): return Int(counts[above])
    case (nil, nil): return 0
    }
  }

  @inline(__always) private func setCount(column: Int, row: Int, at block: Int, to count: Int) {
    counts[(row &* columns &+ column) &* Self.countsPerMacroblock &+ block] =
      UInt8(truncatingIfNeeded: count)
  }
}
