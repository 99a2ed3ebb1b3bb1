/// Slice data (clause 7.3.4) around its macroblocks, by whichever entropy coder the picture uses.
extension PictureEncoder {
  /// Forgets the picture before; the slice header has just been written.
  func beginSlice(of job: borrowing PictureJob, into sink: inout BitSink) {
    usesCABAC = job.contextKind != nil
    skipRun = 0
    lastQP = job.sliceQP
    lastQPDelta = 0
    motionCosts.clear()
    if let kind = job.contextKind {
      sink.alignWithOnes()
      cabac.begin(kind: kind, qp: job.sliceQP)
    }
  }

  /// Writes a macroblock, as P_Skip where that is all there is to say. Answers its luma blocks with
  /// levels, DC levels of Intra_16x16 aside; nil where it is P_Skip.
  func write(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) -> UInt16? {
    usesCABAC
      ? writeCABAC(decided, job, column: column, row: row, into: &sink)
      : writeCAVLC(decided, job, column: column, row: row, into: &sink)
  }

  /// Ends the slice's NAL unit.
  func endSlice(into sink: inout BitSink) {
    if usesCABAC {
      // Its last bit is the stop bit.
      cabac.finish(into: &sink)
      sink.alignWithZeros()
      sink.flushUnit()
    } else {
      if skipRun > 0 { sink.putUE(skipRun) }
      sink.endUnit()
    }
  }

  /// Bits written so far.
  func bitCount(in sink: borrowing BitSink) -> Int {
    usesCABAC ? sink.bitCount &+ cabac.bitCount : sink.bitCount
  }

  /// mb_qp_delta on the way to `qp`, modulo 52 (clause 7.4.5).
  func takeQPDelta(to qp: Int) -> Int {
    var delta = qp - lastQP
    if delta > 25 { delta -= 52 }
    if delta < -26 { delta += 52 }
    lastQP = qp
    return delta
  }

  /// What stands before the samples of I_PCM, which begin at a byte.
  func beginPCM(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink
  ) {
    if usesCABAC {
      beginCABACPCM(job, column: column, row: row, into: &sink)
    } else {
      putSkipRun(job, into: &sink)
      putIntraType(25, job, into: &sink)
    }
    sink.alignWithZeros()
  }

  /// Where a macroblock begins, to write it once more.
  struct SliceMark {
    fileprivate let sink: BitSink
    fileprivate let skipRun: Int
    fileprivate let lastQP: Int
    fileprivate let lastQPDelta: Int
    fileprivate let cabac: CABACEncoder
  }

  /// Notes the place; the last mark alone is valid.
  func mark(_ sink: BitSink) -> SliceMark {
    if usesCABAC { cabac.states.keep() }
    return SliceMark(
      sink: sink, skipRun: skipRun, lastQP: lastQP, lastQPDelta: lastQPDelta, cabac: cabac)
  }

  /// Takes back what was written since.
  func rewind(to mark: SliceMark, _ sink: inout BitSink) {
    sink = mark.sink
    skipRun = mark.skipRun
    lastQP = mark.lastQP
    guard usesCABAC else { return }
    lastQPDelta = mark.lastQPDelta
    cabac = mark.cabac
    cabac.states.restore()
  }
}
