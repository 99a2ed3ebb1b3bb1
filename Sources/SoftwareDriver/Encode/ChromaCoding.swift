internal import CPixelKernels

extension PictureEncoder {
  /// Where chroma is predicted from, Cb and Cr interleaved.
  @unsafe struct ChromaPrediction {
    let samples: UnsafePointer<UInt8>
    let stride: Int
  }

  /// Transforms chroma minus its prediction into a set of levels, and reconstructs it. Small levels of
  /// what moves are dropped.
  @unsafe func codeChroma(
    _ job: borrowing PictureJob, _ prediction: ChromaPrediction, qp: Int, isMoving: Bool, set: Int,
    column: Int, row: Int
  ) -> ChromaResidual {
    let source = unsafe job.source.chroma(x: column &* 8, y: row &* 8)
    let target = unsafe job.target.chroma(x: column &* 8, y: row &* 8)
    if unsafe Int(
      porthole_sad_16x8(source, job.source.stride, prediction.samples, prediction.stride))
      <= work.lambda(qp: qp)
    {
      unsafe porthole_copy_16x8(
        prediction.samples, prediction.stride, target, job.target.stride)
      return .none
    }
    let quantizer = unsafe work.quantizers.pointer(
      at: 2 &* chromaQP(luma: qp, offset: job.chromaQPOffset) &+ (isMoving ? 1 : 0))
    let levels = unsafe work.chroma.pointer(at: 128 &* set)
    let masks = unsafe work.masks.pointer(at: Workspace.masksPerSet &* set)
    let dc = unsafe work.chromaDC.pointer()
    var blocks = unsafe porthole_forward_chroma(
      source, job.source.stride, prediction.samples, prediction.stride, quantizer, levels,
      masks + Workspace.chromaMasks, dc)
    if blocks != 0, isMoving {
      blocks = unsafe porthole_drop_chroma(levels, masks + Workspace.chromaMasks, blocks)
    }
    var hasDC: UInt32 = 0
    for component in 0..<2 {
      let mask = unsafe porthole_chroma_dc(
        dc + 4 &* component, quantizer,
        work.chromaDCLevels.pointer(at: 8 &* set &+ 4 &* component))
      unsafe masks[Workspace.chromaDCMasks &+ component] = UInt16(truncatingIfNeeded: mask)
      hasDC |= mask
    }
    let pattern = blocks != 0 ? 2 : hasDC != 0 ? 1 : 0
    unsafe porthole_inverse_chroma(
      target, job.target.stride, prediction.samples, prediction.stride, quantizer, levels, dc,
      pattern == 0 ? 0 : 1)
    return ChromaResidual(pattern: pattern, blocks: blocks)
  }
}
