internal import CPixelKernels

extension PictureEncoder {
  /// What the transform left of a macroblock's chroma.
  struct ChromaResidual {
    /// coded_block_pattern's part: 0 nothing, 1 DC, 2 AC too.
    let pattern: Int
    /// Blocks with AC levels, Cb from bit 0 and Cr from bit 4.
    let blocks: UInt32
  }

  /// Transforms chroma minus its prediction into the workspace, DC restored already.
  @unsafe func transformChroma(
    _ job: borrowing PictureJob, prediction: UnsafePointer<UInt8>, stride: Int,
    quantizer: UnsafePointer<porthole_quantizer>, column: Int, row: Int
  ) -> ChromaResidual {
    let blocks = unsafe porthole_forward_chroma(
      job.source.chroma(x: column * 8, y: row * 8), job.source.stride, prediction, stride,
      quantizer, work.chroma.pointer(), work.chromaDC.pointer())
    var hasDC: Int32 = 0
    for component in 0..<2 {
      hasDC |= unsafe porthole_chroma_dc(
        work.chromaDC.pointer(at: 4 * component), quantizer,
        work.chromaDCLevels.pointer(at: 4 * component))
    }
    return ChromaResidual(pattern: blocks != 0 ? 2 : hasDC != 0 ? 1 : 0, blocks: blocks)
  }

  @unsafe func restoreChroma(
    _ job: borrowing PictureJob, _ residual: ChromaResidual, prediction: UnsafePointer<UInt8>,
    stride: Int, quantizer: UnsafePointer<porthole_quantizer>, column: Int, row: Int
  ) {
    unsafe porthole_inverse_chroma(
      job.target.chroma(x: column * 8, y: row * 8), job.target.stride, prediction, stride,
      quantizer, work.chroma.pointer(), work.chromaDC.pointer(), residual.pattern == 0 ? 0 : 0xff)
  }
}
