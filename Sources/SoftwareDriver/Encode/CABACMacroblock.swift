/// The macroblock layer in CABAC (clauses 7.3.5 and 9.3).
extension PictureEncoder {
  /// Writes a macroblock. Answers its luma blocks with levels, DC levels of Intra_16x16 aside; nil
  /// where it is P_Skip.
  func writeCABAC(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) -> UInt16? {
    let around = contexts.around(isIntra: decided.isIntra, column: column, row: row)
    if case .inter = decided.prediction, decided.isSkipped(skipMotion(column: column, row: row)) {
      putSkipFlag(around, column: column, row: row, into: &sink)
      return nil
    }
    beginMacroblock(job, around, column: column, row: row, into: &sink)
    var here = MacroblockContext(
      pattern: UInt8(truncatingIfNeeded: decided.pattern), traits: [.isCoded, .isWhole])
    switch decided.prediction {
    case .inter(let motion):
      for bin in 0..<3 { cabac.put(0, CABACContexts.interType &+ bin, into: &sink) }
      let predicted = predictedMotion(column: column, row: row)
      here.motion = putMotion(motion, predicted, around, into: &sink)
      putPattern(decided, around, into: &sink)
      if job.saysTransformSize, decided.lumaPattern != 0 {
        cabac.put(0, CABACContexts.transformSize, into: &sink)
      }
    case .intra4x4:
      here.traits.remove(.isWhole)
      putIntraPrefix(0, job, around, into: &sink)
      if job.saysTransformSize { cabac.put(0, CABACContexts.transformSize, into: &sink) }
      putModes(set: decided.set, into: &sink)
      putChromaMode(decided.chromaMode, around, &here, into: &sink)
      putPattern(decided, around, into: &sink)
    case .intra16x16(let mode):
      putIntraPrefix(1, job, around, into: &sink)
      putWholeType(decided, mode: mode, job, into: &sink)
      putChromaMode(decided.chromaMode, around, &here, into: &sink)
    }
    counts.begin(column: column, row: row)
    let last = lastQPDelta
    lastQPDelta = 0
    if decided.pattern != 0 || decided.hasLumaDC {
      putQPDelta(to: decided.qp, after: last, into: &sink)
      putResidual(decided, &here, around, into: &sink)
    }
    contexts.note(here, column: column, row: row)
    return UInt16(truncatingIfNeeded: here.coded)
  }

  private func putSkipFlag(
    _ around: ContextNeighbours, column: Int, row: Int, into sink: inout BitSink
  ) {
    if column | row != 0 { cabac.putContinuation(into: &sink) }
    cabac.put(1, CABACContexts.skip &+ around.count(of: .isCoded), into: &sink)
    contexts.note(.skipped, column: column, row: row)
    lastQPDelta = 0
    skipRun &+= 1
  }

  /// All of I_PCM but its samples.
  func beginCABACPCM(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink
  ) {
    let around = contexts.around(isIntra: true, column: column, row: row)
    beginMacroblock(job, around, column: column, row: row, into: &sink)
    putIntraPrefix(1, job, around, into: &sink)
    cabac.finish(into: &sink)
    contexts.note(.pcm, column: column, row: row)
    lastQPDelta = 0
  }

  /// end_of_slice_flag of the macroblock before, and mb_skip_flag, which is 0.
  @inline(__always) private func beginMacroblock(
    _ job: borrowing PictureJob, _ around: ContextNeighbours, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    skipRun = 0
    if column | row != 0 { cabac.putContinuation(into: &sink) }
    guard job.reference != nil else { return }
    cabac.put(0, CABACContexts.skip &+ around.count(of: .isCoded), into: &sink)
  }

  /// The first bin of an intra macroblock's type: 0 for I_NxN, 1 for all others.
  @inline(__always) private func putIntraPrefix(
    _ bin: Int, _ job: borrowing PictureJob, _ around: ContextNeighbours,
    into sink: inout BitSink
  ) {
    if job.reference == nil {
      cabac.put(bin, CABACContexts.intraType &+ around.count(of: .isWhole), into: &sink)
    } else {
      cabac.put(1, CABACContexts.interType, into: &sink)
      cabac.put(bin, CABACContexts.intraTypeInP, into: &sink)
    }
  }

  /// What follows that in the type of an Intra_16x16 macroblock.
  private func putWholeType(
    _ decided: borrowing DecidedMacroblock, mode: Int, _ job: borrowing PictureJob,
    into sink: inout BitSink
  ) {
    // Not I_PCM.
    cabac.putContinuation(into: &sink)
    // Contexts of the bins behind: luma levels, chroma levels, chroma AC, the mode's two
    // (tables 9-36 and 9-39).
    let steps: [5 of Int] = job.reference == nil ? [3, 4, 5, 6, 7] : [1, 2, 2, 3, 3]
    let base = job.reference == nil ? CABACContexts.intraType : CABACContexts.intraTypeInP
    let chroma = decided.chroma.pattern
    cabac.put(decided.lumaPattern != 0, base &+ steps[0], into: &sink)
    cabac.put(chroma != 0, base &+ steps[1], into: &sink)
    if chroma != 0 { cabac.put(chroma == 2, base &+ steps[2], into: &sink) }
    cabac.put(mode &>> 1, base &+ steps[3], into: &sink)
    cabac.put(mode & 1, base &+ steps[4], into: &sink)
  }

  /// prev_intra4x4_pred_mode_flag and rem_intra4x4_pred_mode of the sixteen blocks.
  private func putModes(set: Int, into sink: inout BitSink) {
    for index in 0..<16 {
      let code = Int(work.modeCodes[16 &* set &+ index])
      cabac.put(code == Int(Self.likelyModeCode), CABACContexts.likelyMode, into: &sink)
      guard code != Int(Self.likelyModeCode) else { continue }
      // Least significant bit first.
      for bit in 0..<3 {
        cabac.put(code &>> bit & 1, CABACContexts.otherMode, into: &sink)
      }
    }
  }

  /// intra_chroma_pred_mode, truncated unary up to 3.
  private func putChromaMode(
    _ mode: Int, _ around: ContextNeighbours, _ here: inout MacroblockContext,
    into sink: inout BitSink
  ) {
    if mode != 0 { here.traits.insert(.hasChromaMode) }
    var context = CABACContexts.chromaMode &+ around.count(of: .hasChromaMode)
    for _ in 0..<mode {
      cabac.put(1, context, into: &sink)
      context = CABACContexts.chromaMode &+ 3
    }
    if mode < 3 { cabac.put(0, context, into: &sink) }
  }

  /// mvd_l0 of both parts. Answers its magnitudes.
  private func putMotion(
    _ motion: Motion, _ predicted: Motion, _ around: ContextNeighbours, into sink: inout BitSink
  ) -> SIMD2<UInt8> {
    // Motion vectors are said in quarter samples.
    let x = 4 &* (Int(motion.x) &- Int(predicted.x))
    let y = 4 &* (Int(motion.y) &- Int(predicted.y))
    let sumX = Int(around.left.motion.x) &+ Int(around.above.motion.x)
    let sumY = Int(around.left.motion.y) &+ Int(around.above.motion.y)
    cabac.putMotion(x, CABACContexts.horizontalMotion, neighbours: sumX, into: &sink)
    cabac.putMotion(y, CABACContexts.verticalMotion, neighbours: sumY, into: &sink)
    return SIMD2(UInt8(clamping: abs(x)), UInt8(clamping: abs(y)))
  }

  private func putPattern(
    _ decided: borrowing DecidedMacroblock, _ around: ContextNeighbours, into sink: inout BitSink
  ) {
    let luma = decided.lumaPattern
    let left = Int(around.left.pattern)
    let above = Int(around.above.pattern)
    // Each 8x8's context asks whether its neighbours have no levels.
    let lefts = (left &>> 1 & 1, luma & 1, left &>> 3 & 1, luma &>> 2 & 1)
    let aboves = (above &>> 2 & 1, above &>> 3 & 1, luma & 1, luma &>> 1 & 1)
    let base = CABACContexts.lumaPattern
    cabac.put(luma & 1, base &+ 3 &- lefts.0 &- 2 &* aboves.0, into: &sink)
    cabac.put(luma &>> 1 & 1, base &+ 3 &- lefts.1 &- 2 &* aboves.1, into: &sink)
    cabac.put(luma &>> 2 & 1, base &+ 3 &- lefts.2 &- 2 &* aboves.2, into: &sink)
    cabac.put(luma &>> 3 & 1, base &+ 3 &- lefts.3 &- 2 &* aboves.3, into: &sink)
    let chroma = decided.chroma.pattern
    let hasAny = (left &>> 4 != 0 ? 1 : 0) &+ (above &>> 4 != 0 ? 2 : 0)
    cabac.put(chroma != 0, CABACContexts.chromaPattern &+ hasAny, into: &sink)
    guard chroma != 0 else { return }
    let hasAC = (left &>> 4 == 2 ? 1 : 0) &+ (above &>> 4 == 2 ? 2 : 0)
    cabac.put(chroma == 2, CABACContexts.chromaPattern &+ 4 &+ hasAC, into: &sink)
  }

  /// mb_qp_delta, unary.
  private func putQPDelta(to qp: Int, after last: Int, into sink: inout BitSink) {
    var context = CABACContexts.qpDelta &+ (last != 0 ? 1 : 0)
    let delta = takeQPDelta(to: qp)
    lastQPDelta = delta
    let code = delta > 0 ? 2 &* delta &- 1 : -2 &* delta
    for bin in 0..<code {
      cabac.put(1, context, into: &sink)
      context = CABACContexts.qpDelta &+ (bin == 0 ? 2 : 3)
    }
    cabac.put(0, context, into: &sink)
  }
}
