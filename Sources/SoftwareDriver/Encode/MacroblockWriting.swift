internal import CPixelKernels

/// coded_block_pattern to codeNum for inter macroblocks (table 9-4), by pattern.
private let interPatternCodes: [48 of UInt8] = [
  0, 2, 3, 7, 4, 8, 17, 13, 5, 18, 9, 14, 10, 15, 16, 11,
  1, 32, 33, 36, 34, 37, 44, 40, 35, 45, 38, 41, 39, 42, 43, 19,
  6, 24, 25, 20, 26, 21, 46, 28, 27, 47, 22, 29, 23, 30, 31, 12,
]

/// The same for Intra_4x4.
private let intraPatternCodes: [48 of UInt8] = [
  3, 29, 30, 17, 31, 18, 37, 8, 32, 38, 19, 9, 20, 10, 11, 2,
  16, 33, 34, 21, 35, 22, 39, 4, 36, 40, 23, 5, 24, 6, 7, 1,
  41, 42, 43, 25, 44, 26, 46, 12, 45, 47, 27, 13, 28, 14, 15, 0,
]

/// A macroblock in CAVLC (clauses 7.3.5 and 9.2), and the contexts that it keeps.
extension PictureEncoder {
  /// Where a macroblock's counts of levels start: 16 luma blocks, 4 Cb, 4 Cr, in raster order.
  static let countsPerMacroblock = 24

  /// Writes a macroblock, or counts it to the skipped ones. Answers its luma blocks with levels, DC
  /// levels of Intra_16x16 aside.
  @discardableResult
  mutating func writeCAVLC(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) -> UInt16 {
    clearCounts(column: column, row: row)
    let pattern = decided.pattern
    switch decided.prediction {
    case .inter(let motion):
      if pattern == 0, motion == skipMotion(column: column, row: row) {
        skipRun &+= 1
        return 0
      }
      putSkipRun(job, into: &sink)
      sink.putUE(0)
      let predicted = predictedMotion(column: column, row: row)
      // Motion vectors are said in quarter samples.
      sink.putSE(4 &* (Int(motion.x) &- Int(predicted.x)))
      sink.putSE(4 &* (Int(motion.y) &- Int(predicted.y)))
      sink.putUE(Int(interPatternCodes[pattern]))
      if job.saysTransformSize, decided.lumaPattern != 0 { sink.put(0, bits: 1) }
      if pattern != 0 { putQPDelta(to: decided.qp, into: &sink) }
    case .intra4x4:
      putSkipRun(job, into: &sink)
      putIntraType(0, job, into: &sink)
      if job.saysTransformSize { sink.put(0, bits: 1) }
      for index in 0..<16 {
        let code = work.modeCodes[16 &* decided.set &+ index]
        if code == Self.likelyModeCode {
          sink.put(1, bits: 1)
        } else {
          sink.put(UInt32(code), bits: 4)
        }
      }
      sink.putUE(decided.chromaMode)
      sink.putUE(Int(intraPatternCodes[pattern]))
      if pattern != 0 { putQPDelta(to: decided.qp, into: &sink) }
    case .intra16x16(let mode):
      putSkipRun(job, into: &sink)
      let type = 1 + mode + 4 * decided.chroma.pattern + (decided.lumaPattern == 0 ? 0 : 12)
      putIntraType(type, job, into: &sink)
      sink.putUE(decided.chromaMode)
      putQPDelta(to: decided.qp, into: &sink)
      putLumaDC(set: decided.set, column: column, row: row, into: &sink)
    }
    let coded = putLuma(decided, column: column, row: row, into: &sink)
    putChroma(decided, column: column, row: row, into: &sink)
    return coded
  }

  /// mb_type of table 7-11, behind the five P types in a P slice (table 7-13).
  func putIntraType(_ type: Int, _ job: borrowing PictureJob, into sink: inout BitSink) {
    sink.putUE(job.reference == nil ? type : type &+ 5)
  }

  /// Ends the run of skipped macroblocks before a coded one; I slices have none.
  mutating func putSkipRun(_ job: borrowing PictureJob, into sink: inout BitSink) {
    guard job.reference != nil else { return }
    sink.putUE(skipRun)
    skipRun = 0
  }

  private mutating func putQPDelta(to qp: Int, into sink: inout BitSink) {
    sink.putSE(takeQPDelta(to: qp))
  }

  /// The 16 levels that Intra_16x16 codes first.
  private func putLumaDC(set: Int, column: Int, row: Int, into sink: inout BitSink) {
    let mask = unsafe porthole_zigzag(
      work.lumaDCLevels.pointer(at: 16 &* set), work.ordered.pointer())
    let nC = neighbourCount(column: column, row: row, x: 0, y: 0, plane: 0, width: 4)
    let block = unsafe ResidualBlock(
      levels: UnsafePointer(work.ordered.pointer()), mask: mask, size: 16)
    sink.put(block, tokenClass: CodeTables.tokenClass(nC: nC), tables: work.codes)
  }

  /// Luma blocks of each 8x8 whose bit stands in the pattern. Answers the blocks with levels, in
  /// raster order.
  private func putLuma(
    _ decided: DecidedMacroblock, column: Int, row: Int, into sink: inout BitSink
  ) -> UInt16 {
    // In Intra_16x16 DC is apart.
    let first = if case .intra16x16 = decided.prediction { 1 } else { 0 }
    let pattern = decided.lumaPattern
    var coded: UInt16 = 0
    for quarter in 0..<4 where pattern &>> quarter & 1 == 1 {
      for part in 0..<4 {
        let x = (quarter & 1) &* 2 &+ (part & 1)
        let y = (quarter & 2) &+ (part &>> 1)
        let index = y &* 4 &+ x
        var mask: UInt32 = 0
        if decided.lumaBlocks &>> UInt32(index) & 1 == 1 {
          mask =
            unsafe porthole_zigzag(
              work.luma.pointer(at: 256 &* decided.set &+ 16 &* index), work.ordered.pointer())
            &>> UInt32(first)
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
  private func putChroma(
    _ decided: DecidedMacroblock, column: Int, row: Int, into sink: inout BitSink
  ) {
    guard decided.chroma.pattern > 0 else { return }
    for component in 0..<2 {
      let levels = unsafe UnsafePointer(
        work.chromaDCLevels.pointer(at: 8 &* decided.set &+ 4 &* component))
      var mask: UInt32 = 0
      for index in 0..<4 where unsafe levels[index] != 0 { mask |= 1 &<< UInt32(index) }
      let block = unsafe ResidualBlock(levels: levels, mask: mask, size: 4)
      sink.put(block, tokenClass: CodeTables.chromaDCClass, tables: work.codes)
    }
    guard decided.chroma.pattern == 2 else { return }
    for index in 0..<8 {
      var mask: UInt32 = 0
      if decided.chroma.blocks &>> UInt32(index) & 1 == 1 {
        mask =
          unsafe porthole_zigzag(
            work.chroma.pointer(at: 128 &* decided.set &+ 16 &* index), work.ordered.pointer())
          &>> 1
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

  @inline(__always) func setCount(column: Int, row: Int, at block: Int, to count: Int) {
    counts[(row &* columns &+ column) &* Self.countsPerMacroblock &+ block] =
      UInt8(truncatingIfNeeded: count)
  }

  /// Blocks outside the pattern count no levels.
  @inline(__always) func clearCounts(column: Int, row: Int) {
    let start = (row &* columns &+ column) &* Self.countsPerMacroblock
    unsafe UnsafeMutableRawPointer(counts.pointer(at: start)).initializeMemory(
      as: UInt8.self, repeating: 0, count: Self.countsPerMacroblock)
  }
}
