internal import CPixelKernels

extension PictureEncoder {
  /// Slice data of I_PCM and, where the source equals the reference, P_Skip.
  ///
  /// Deblocking leaves I_PCM alone up to slice QP 30, as the mean of 0 and 30 is below the least
  /// QP that it acts on; a larger QP is refused before.
  func encodeLossless(_ job: borrowing PictureJob, into sink: inout BitSink) {
    hashSource(of: job)
    beginSlice(of: job, into: &sink)
    for row in 0..<rows {
      let job = job.around(row: row)
      for column in 0..<columns {
        if let reference = job.reference,
          isUnchanged(job, reference, column: column, row: row)
        {
          codeRepeat(job, reference, column: column, row: row, into: &sink)
        } else {
          codePCM(job, column: column, row: row, into: &sink)
        }
      }
    }
    endSlice(into: &sink)
  }

  static let largestLosslessQP = 30

  private func isUnchanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int, row: Int
  ) -> Bool {
    let index = row * columns + column
    guard job.memory.hashes[index] == reference.memory.hashes[index] else { return false }
    return macroblockSSD(job, reference, column: column, row: row) == 0
  }

  /// How far the source is from the reference at the same place, over 384 samples.
  func macroblockSSD(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int, row: Int
  ) -> Int {
    unsafe Int(
      porthole_macroblock_ssd(
        job.source.luma(x: column * 16, y: row * 16),
        job.source.chroma(x: column * 8, y: row * 8), job.source.stride,
        reference.view.luma(x: column * 16, y: row * 16),
        reference.view.chroma(x: column * 8, y: row * 8), reference.view.stride))
  }
}
