internal import CPixelKernels

extension PictureEncoder {
  /// A CAVLC macroblock of more bits than this is not allowed (clause A.3.1); I_PCM has 384 bytes.
  private static let largestMacroblockBits = 3200

  /// Slice data of intra, inter and skipped macroblocks, and the deblocked reconstruction.
  mutating func encodeLossy(
    _ job: borrowing PictureJob, plan: inout PicturePlan, into sink: inout BitSink
  ) {
    beginSlice(of: job)
    for row in 0..<rows {
      let job = job.around(row: row)
      for column in 0..<columns {
        codeMacroblock(job, &plan, column: column, row: row, into: &sink)
      }
      plan.adapt()
      // Intra prediction wants the row above as it was before deblocking.
      if row > 0 { deblockRow(job, row: row - 1) }
      if sink.hasOverflowed { return }
    }
    deblockRow(job.around(row: rows - 1), row: rows - 1)
    if skipRun > 0 { sink.putUE(skipRun) }
  }

  private mutating func codeMacroblock(
    _ job: borrowing PictureJob, _ plan: inout PicturePlan, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    guard let reference = job.reference else {
      let before = sink.bitCount
      let qp = plan.qp
      bounded(job, column: column, row: row, into: &sink) { encoder, sink in
        let choice = encoder.chooseIntra(job, column: column, row: row)
        encoder.codeIntra(job, choice, column: column, row: row, qp: qp, into: &sink)
      }
      plan.noteChanged(bits: sink.bitCount &- before, detail: details[index])
      job.memory.qualities[index] = UInt8(plan.qp)
      return
    }
    if job.memory.hashes[index] == reference.memory.hashes[index] {
      codeUnchanged(job, reference, &plan, column: column, row: row, into: &sink)
    } else {
      let before = sink.bitCount
      codeChanged(job, reference, qp: plan.qp, column: column, row: row, into: &sink)
      plan.noteChanged(bits: sink.bitCount &- before, detail: details[index])
    }
  }

  /// A macroblock whose source is the reference's: repeated, or brought nearer to the source.
  private mutating func codeUnchanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference,
    _ plan: inout PicturePlan, column: Int, row: Int, into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    var quality = reference.memory.qualities[index]
    if Int(quality) > plan.stillQP, plan.refinementBits > 0 {
      let distance = macroblockSSD(job, reference, column: column, row: row)
      if distance > goodEnough(qp: plan.stillQP) {
        let before = sink.bitCount
        let qp = plan.stillQP
        bounded(job, column: column, row: row, into: &sink) { encoder, sink in
          encoder.codeInter(
            job, reference, motion: .zero,
            skipMotion: encoder.skipMotion(column: column, row: row), column: column, row: row,
            qp: qp, into: &sink)
        }
        plan.refinementBits &-= sink.bitCount &- before
        job.memory.qualities[index] = UInt8(qp)
        return
      }
      quality = UInt8(plan.stillQP)
    }
    job.memory.qualities[index] = quality
    codeRepeat(job, reference, column: column, row: row, into: &sink)
  }

  private mutating func codeChanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, qp: Int, column: Int,
    row: Int, into sink: inout BitSink
  ) {
    bounded(job, column: column, row: row, into: &sink) { encoder, sink in
      let skip = encoder.skipMotion(column: column, row: row)
      let inter = encoder.searchMotion(
        job, reference, skipMotion: skip, qp: qp, column: column, row: row)
      if inter.cost > Self.plainInterCost {
        let intra = encoder.chooseIntra(job, column: column, row: row)
        if intra.cost + encoder.work.lambda(qp: qp) * Self.intraBits < inter.cost {
          encoder.codeIntra(job, intra, column: column, row: row, qp: qp, into: &sink)
          return
        }
      }
      encoder.codeInter(
        job, reference, motion: inter.motion, skipMotion: skip, column: column, row: row,
        qp: qp, into: &sink)
    }
    job.memory.qualities[row &* columns &+ column] = UInt8(qp)
  }

  /// Below this SAD intra prediction is not worth a look: 1.5 a sample.
  private static let plainInterCost = 384
  /// What an intra macroblock says more than an inter one, about.
  private static let intraBits = 8

  /// SSD that coding at `qp` would leave: a twelfth of the step's square a sample.
  private func goodEnough(qp: Int) -> Int { work.squaredSteps(qp: qp) * 384 / 12 }

  /// Codes a macroblock, and once more as I_PCM when it came out too long.
  private mutating func bounded(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink,
    _ code: (inout PictureEncoder, inout BitSink) -> Void
  ) {
    let before = sink
    let run = skipRun
    let qp = lastQP
    renewSerial(of: row &* columns &+ column, in: job)
    code(&self, &sink)
    guard sink.bitCount &- before.bitCount > Self.largestMacroblockBits else { return }
    sink = before
    skipRun = run
    lastQP = qp
    codePCM(job, column: column, row: row, into: &sink)
  }
}
