internal import CPixelKernels

extension PictureEncoder {
  /// Where chroma is predicted from, Cb and Cr interleaved.
  @unsafe struct ChromaPrediction {
    let samples: UnsafePointer<UInt8>
    let stride: Int
  }

  /// Transforms chroma minus its prediction into a set of levels, and reconstructs it.
  @unsafe func codeChroma(
    _ job: borrowing PictureJob, _ prediction: ChromaPrediction,
    quantizer: UnsafePointer<porthole_quantizer>, set: Int, column: Int, row: Int
  ) -> ChromaResidual {
    let levels = unsafe work.chroma.pointer(at: 128 &* set)
    let dc = unsafe work.chromaDC.pointer()
    let blocks = unsafe porthole_forward_chroma(
      job.source.chroma(x: column &* 8, y: row &* 8), job.source.stride, prediction.samples,
      prediction.stride, quantizer, levels, dc)
    var hasDC: Int32 = 0
    for component in 0..<2 {
      hasDC |= unsafe porthole_chroma_dc(
        dc + 4 &* component, quantizer,
        work.chromaDCLevels.pointer(at: 8 &* set &+ 4 &* component))
    }
    let pattern = blocks != 0 ? 2 : hasDC != 0 ? 1 : 0
    unsafe porthole_inverse_chroma(
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride, prediction.samples,
      prediction.stride, quantizer, levels, dc, pattern == 0 ? 0 : 0xff)
    return ChromaResidual(pattern: pattern, blocks: blocks)
  }

  /// The quantiser for chroma that goes with a luma QP.
  @unsafe func chromaQuantizer(
    _ job: borrowing PictureJob, qp: Int, isIntra: Bool
  ) -> UnsafePointer<porthole_quantizer> {
    unsafe UnsafePointer(
      work.quantizers.pointer(
        at: 2 &* chromaQP(luma: qp, offset: job.chromaQPOffset) &+ (isIntra ? 0 : 1)))
  }
}
