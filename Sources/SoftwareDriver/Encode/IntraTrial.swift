internal import CPixelKernels

extension PictureEncoder {
  /// Codes a macroblock of an I slice.
  func codeIntra(
    _ job: borrowing PictureJob, qp: Int, column: Int, row: Int, into sink: inout BitSink
  ) {
    let choice = chooseIntra(job, column: column, row: row)
    var trial = MacroblockTrial()
    tryIntra(&trial, job, choice, qp: qp, column: column, row: row, at: sink)
    settle(trial, job, column: column, row: row, into: &sink)
  }

  /// Weighs both kinds of intra prediction, in a P picture the likelier one.
  func tryIntra(
    _ trial: inout MacroblockTrial, _ job: borrowing PictureJob, _ choice: IntraChoice, qp: Int,
    column: Int, row: Int, at sink: BitSink
  ) {
    let chromaMode = chooseIntraChroma(job, column: column, row: row)
    let isPlain = choice.cost <= Self.plainIntraCost
    // Time is short where much of a picture is new; a keyframe is worth its own.
    let isEither = job.reference == nil && !isPlain
    let isVaried = !isPlain && isVaried(job, choice, column: column, row: row)
    if isEither || !isVaried {
      attempt(&trial, job, column: column, row: row, at: sink) { set in
        decideIntra16x16(
          job, mode: choice.mode, chromaMode: chromaMode, column: column, row: row, qp: qp, set: set
        )
      }
    }
    guard isEither || isVaried else { return }
    attempt(&trial, job, column: column, row: row, at: sink) { set in
      decideIntra4x4(job, chromaMode: chromaMode, column: column, row: row, qp: qp, set: set)
    }
  }

  /// Whether Intra_16x16 leaves five eighths of how much the source varies: then Intra_4x4 is better
  /// in four of five macroblocks, and else about as good.
  private func isVaried(
    _ job: borrowing PictureJob, _ choice: IntraChoice, column: Int, row: Int
  ) -> Bool {
    let activity = unsafe Int(
      porthole_activity_16x16(
        job.source.luma(x: column &* 16, y: row &* 16), job.source.stride))
    return 8 &* choice.cost >= 5 &* activity
  }

  /// Below this SAD Intra_4x4 is not worth a look: half a sample.
  private static let plainIntraCost = 128
}
