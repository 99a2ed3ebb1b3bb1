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
  /// Writes a macroblock. Answers its luma blocks with levels, DC levels of Intra_16x16 aside; nil
  /// where it is counted to the skipped ones instead.
  @discardableResult
  func writeCAVLC(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) -> UInt16? {
    let pattern = decided.pattern
    switch decided.prediction {
    case .inter(let motion):
      if pattern == 0, motion == skipMotion(column: column, row: row) {
        skipRun &+= 1
        return nil
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
    }
    counts.begin(column: column, row: row)
    let coded = putLuma(decided, into: &sink)
    putChroma(decided, into: &sink)
    return coded
  }

  /// mb_type of table 7-11, behind the five P types in a P slice (table 7-13).
  func putIntraType(_ type: Int, _ job: borrowing PictureJob, into sink: inout BitSink) {
    sink.putUE(job.reference == nil ? type : type &+ 5)
  }

  /// Ends the run of skipped macroblocks before a coded one; I slices have none.
  func putSkipRun(_ job: borrowing PictureJob, into sink: inout BitSink) {
    guard job.reference != nil else { return }
    sink.putUE(skipRun)
    skipRun = 0
  }

  private func putQPDelta(to qp: Int, into sink: inout BitSink) {
    sink.putSE(takeQPDelta(to: qp))
  }

  /// DC levels of Intra_16x16, and the blocks of each 8x8 whose bit stands in the pattern. Answers the
  /// blocks with levels, in raster order.
  private func putLuma(_ decided: DecidedMacroblock, into sink: inout BitSink) -> UInt16 {
    var first = 0
    if decided.hasLumaDC {
      first = 1
      put(lumaDCBlock(of: decided), .luma, x: 0, y: 0, into: &sink)
    }
    let pattern = decided.lumaPattern
    var coded: UInt16 = 0
    for quarter in 0..<4 where pattern &>> quarter & 1 == 1 {
      for part in 0..<4 {
        let x = (quarter & 1) &* 2 &+ (part & 1)
        let y = (quarter & 2) &+ (part &>> 1)
        let index = y &* 4 &+ x
        let block = lumaBlock(index, of: decided, first: first)
        put(block, .luma, x: x, y: y, into: &sink)
        counts.set(.luma, x: x, y: y, to: block.count)
        if block.mask != 0 { coded |= 1 &<< UInt16(index) }
      }
    }
    return coded
  }

  /// Chroma DC and, with pattern 2, AC levels.
  private func putChroma(_ decided: DecidedMacroblock, into sink: inout BitSink) {
    guard decided.chroma.pattern > 0 else { return }
    for component in 0..<2 {
      sink.put(
        chromaDCBlock(component, of: decided), tokenClass: CodeTables.chromaDCClass,
        tables: work.codes)
    }
    guard decided.chroma.pattern == 2 else { return }
    for index in 0..<8 {
      let plane: LevelCounts.Plane = index < 4 ? .cb : .cr
      let x = index & 1
      let y = index &>> 1 & 1
      let block = chromaBlock(index, of: decided)
      put(block, plane, x: x, y: y, into: &sink)
      counts.set(plane, x: x, y: y, to: block.count)
    }
  }

  @inline(__always) private func put(
    _ block: ResidualBlock, _ plane: LevelCounts.Plane, x: Int, y: Int, into sink: inout BitSink
  ) {
    sink.put(
      block, tokenClass: CodeTables.tokenClass(nC: counts.around(plane, x: x, y: y)),
      tables: work.codes)
  }
}
