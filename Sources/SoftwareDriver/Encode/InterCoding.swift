internal import CPixelKernels

extension PictureEncoder {
  /// Codes and reconstructs a macroblock predicted from the reference at `motion`. What stands still
  /// keeps its small levels: a residue would be seen there.
  func decideInter(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, motion: Motion,
    column: Int, row: Int, qp: Int, set: Int, isStill: Bool = false
  ) -> DecidedMacroblock {
    let prediction = unsafe reference.view.luma(
      x: column &* 16 &+ Int(motion.x), y: row &* 16 &+ Int(motion.y))
    let quantizer = unsafe work.quantizers.pointer(at: 2 &* qp &+ (isStill ? 0 : 1))
    let levels = unsafe work.luma.pointer(at: 256 &* set)
    let masks = unsafe work.masks.pointer(at: Workspace.masksPerSet &* set)
    var blocks = unsafe porthole_forward_luma(
      job.source.luma(x: column &* 16, y: row &* 16), job.source.stride, prediction,
      reference.view.stride, quantizer, levels, masks, nil)
    if blocks != 0, !isStill { blocks = unsafe porthole_drop_luma(levels, masks, blocks) }
    unsafe porthole_inverse_luma(
      job.target.luma(x: column &* 16, y: row &* 16), job.target.stride, prediction,
      reference.view.stride, quantizer, levels, nil, blocks)
    let chroma = unsafe codeChroma(
      job, predictChroma(reference, motion: motion, column: column, row: row),
      qp: qp, isMoving: !isStill, set: set, column: column, row: row)
    return DecidedMacroblock(
      prediction: .inter(motion), chromaMode: 0, lumaBlocks: blocks, chroma: chroma, qp: qp,
      set: set)
  }

  /// Reconstructs a macroblock as its prediction.
  func predictOnly(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, motion: Motion,
    column: Int, row: Int
  ) -> DecidedMacroblock {
    let chroma = unsafe predictChroma(reference, motion: motion, column: column, row: row)
    unsafe porthole_inverse_luma(
      job.target.luma(x: column &* 16, y: row &* 16), job.target.stride,
      reference.view.luma(x: column &* 16 &+ Int(motion.x), y: row &* 16 &+ Int(motion.y)),
      reference.view.stride, work.quantizers.pointer(), work.luma.pointer(), nil, 0)
    unsafe porthole_copy_16x8(
      chroma.samples, chroma.stride, job.target.chroma(x: column &* 8, y: row &* 8),
      job.target.stride)
    return DecidedMacroblock(
      prediction: .inter(motion), chromaMode: 0, lumaBlocks: 0,
      chroma: .none, qp: lastQP, set: 0)
  }

  /// An odd vector falls between chroma samples and is interpolated; an even one is read in place.
  @unsafe private func predictChroma(
    _ reference: borrowing PictureJob.Reference, motion: Motion, column: Int, row: Int
  ) -> ChromaPrediction {
    let samples = unsafe reference.view.chroma(
      x: column * 8 + Int(motion.x) >> 1, y: row * 8 + Int(motion.y) >> 1)
    let halfX = Int32(motion.x & 1)
    let halfY = Int32(motion.y & 1)
    guard halfX | halfY != 0 else {
      return unsafe ChromaPrediction(samples: samples, stride: reference.view.stride)
    }
    let prediction = unsafe work.chromaPrediction.pointer()
    unsafe porthole_inter_chroma(samples, reference.view.stride, halfX, halfY, prediction)
    return unsafe ChromaPrediction(samples: prediction, stride: 16)
  }
}
