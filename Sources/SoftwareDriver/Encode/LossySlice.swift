extension PictureEncoder {
  /// A macroblock of more bits than this is not allowed (clause A.3.1); I_PCM has 384 bytes.
  static let largestMacroblockBits = 3200

  /// Slice data of intra, inter and skipped macroblocks, and the deblocked reconstruction.
  func encodeLossy(
    _ job: borrowing PictureJob, plan: inout PicturePlan, into sink: inout BitSink
  ) {
    beginSlice(of: job, into: &sink)
    plan.begin(at: bitCount(in: sink))
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
    endSlice(into: &sink)
  }

  private func codeMacroblock(
    _ job: borrowing PictureJob, _ plan: inout PicturePlan, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    guard let reference = job.reference else {
      let before = bitCount(in: sink)
      let qp = plan.qp
      bounded(job, column: column, row: row, into: &sink) { sink in
        codeIntra(job, qp: qp, column: column, row: row, into: &sink)
      }
      plan.noteChanged(bits: bitCount(in: sink) &- before, detail: details[index])
      job.memory.qualities[index] = UInt8(plan.qp)
      return
    }
    if job.memory.hashes[index] == reference.memory.hashes[index] {
      motionCosts[column] = 0
      codeUnchanged(job, reference, &plan, column: column, row: row, into: &sink)
    } else if plan.isFull(at: bitCount(in: sink)) {
      postpone(job, reference, column: column, row: row, into: &sink)
    } else {
      let before = bitCount(in: sink)
      codeChanged(job, reference, qp: plan.qp, column: column, row: row, into: &sink)
      plan.noteChanged(bits: bitCount(in: sink) &- before, detail: details[index])
    }
  }

  /// A macroblock whose source is the reference's: repeated, or brought nearer to the source. What is
  /// known to be coarse, or to have lost small levels, is coded once more however near it is on the
  /// whole: a faint mark would stay away.
  private func codeUnchanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference,
    _ plan: inout PicturePlan, column: Int, row: Int, into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    var quality = reference.memory.qualities[index]
    let isCoarse = PictureLoad.isCoarse(quality)
    let best = isCoarse ? plan.readableQP : plan.stillQP
    if Int(quality) > best, plan.mayRefine(isCoarse: isCoarse),
      !plan.isFull(at: bitCount(in: sink))
    {
      if quality != Reconstruction.unknownQuality
        || macroblockSSD(job, reference, column: column, row: row) > goodEnough(qp: best)
      {
        let before = bitCount(in: sink)
        bounded(job, column: column, row: row, into: &sink) { sink in
          let decided = decideInter(
            job, reference, motion: .zero, column: column, row: row, qp: best, set: 0, isStill: true
          )
          finish(decided, job, column: column, row: row, into: &sink)
        }
        plan.refinementBits &-= bitCount(in: sink) &- before
        job.memory.qualities[index] = UInt8(best)
        return
      }
      quality = UInt8(best)
    }
    job.memory.qualities[index] = quality
    codeRepeat(job, reference, column: column, row: row, into: &sink)
  }

  /// Leaves a changed macroblock, for which there are no bits left, as motion implies it: to the next
  /// picture its source has changed again.
  private func postpone(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    let motion = skipMotion(column: column, row: row).clamped(
      column: column, row: row, columns: columns, rows: rows)
    let decided = predictOnly(job, reference, motion: motion, column: column, row: row)
    finish(decided, job, column: column, row: row, into: &sink)
    renewSerial(of: index, in: job)
    motionCosts[column] = 0
    job.memory.hashes[index] = ~job.memory.hashes[index]
    job.memory.qualities[index] = Reconstruction.unknownQuality
  }

  private func codeChanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, qp: Int, column: Int,
    row: Int, into sink: inout BitSink
  ) {
    // It is looked at once more when it stands still.
    let quality = UInt8(qp) | Reconstruction.residue
    bounded(job, column: column, row: row, into: &sink) { sink in
      let skip = skipMotion(column: column, row: row)
      let inter = searchMotion(
        job, reference, skipMotion: skip, qp: qp, column: column, row: row)
      motionCosts[column] = Int32(truncatingIfNeeded: inter.cost)
      let mayBeIntra = inter.cost > Self.plainInterBits &* work.lambda(qp: qp)
      let intra = mayBeIntra ? chooseIntra(job, column: column, row: row) : nil
      guard let intra, intra.cost < inter.cost else {
        let decided = decideInter(
          job, reference, motion: inter.motion, column: column, row: row, qp: qp, set: 0)
        return finish(decided, job, column: column, row: row, into: &sink)
      }
      var trial = MacroblockTrial()
      // Where nothing in the reference is like the source only intra prediction is left.
      if inter.cost < 2 &* intra.cost {
        attempt(&trial, job, column: column, row: row, at: sink) { set in
          decideInter(
            job, reference, motion: inter.motion, column: column, row: row, qp: qp, set: set)
        }
      }
      tryIntra(&trial, job, intra, qp: qp, column: column, row: row, at: sink)
      settle(trial, job, column: column, row: row, into: &sink)
    }
    job.memory.qualities[row &* columns &+ column] = quality
  }

  /// A motion vector that costs no more than so many bits leaves nothing to intra prediction.
  private static let plainInterBits = 128
  /// SSD that coding at `qp` would leave: a twelfth of the step's square a sample.
  private func goodEnough(qp: Int) -> Int { work.squaredSteps(qp: qp) * 384 / 12 }

  /// Codes a macroblock, and once more as I_PCM when it came out too long.
  private func bounded(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink,
    _ code: (inout BitSink) -> Void
  ) {
    let start = mark(sink)
    let before = bitCount(in: sink)
    renewSerial(of: row &* columns &+ column, in: job)
    code(&sink)
    guard bitCount(in: sink) &- before > Self.largestMacroblockBits else { return }
    rewind(to: start, &sink)
    codePCM(job, column: column, row: row, into: &sink)
  }
}
