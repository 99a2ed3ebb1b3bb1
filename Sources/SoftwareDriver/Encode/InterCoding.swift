internal import CPixelKernels

/// coded_block_pattern to codeNum for inter macroblocks (table 9-4), by pattern.
private let interPatternCodes: [48 of UInt8] = [
  0, 2, 3, 7, 4, 8, 17, 13, 5, 18, 9, 14, 10, 15, 16, 11,
  1, 32, 33, 36, 34, 37, 44, 40, 35, 45, 38, 41, 39, 42, 43, 19,
  6, 24, 25, 20, 26, 21, 46, 28, 27, 47, 22, 29, 23, 30, 31, 12,
]

extension PictureEncoder {
  /// Codes and reconstructs a macroblock predicted from the reference at `motion`, as P_Skip when
  /// nothing is left to say.
  mutating func codeInter(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, motion: Motion,
    skipMotion: Motion, column: Int, row: Int, qp: Int, into sink: inout BitSink
  ) {
    let prediction = unsafe reference.view.luma(
      x: column * 16 + Int(motion.x), y: row * 16 + Int(motion.y))
    let chroma = unsafe predictChroma(reference, motion: motion, column: column, row: row)
    let quantizer = unsafe work.quantizers.pointer(at: 2 * qp + 1)
    let chromaQuantizer = unsafe work.quantizers.pointer(
      at: 2 * chromaQP(luma: qp, offset: job.chromaQPOffset) + 1)
    let blocks = unsafe porthole_forward_luma(
      job.source.luma(x: column * 16, y: row * 16), job.source.stride, prediction,
      reference.view.stride, quantizer, work.luma.pointer(), nil)
    let residual = unsafe transformChroma(
      job, prediction: chroma.samples, stride: chroma.stride, quantizer: chromaQuantizer,
      column: column, row: row)
    let pattern = lumaPattern(of: blocks) | residual.pattern << 4
    var coded: UInt16 = 0
    var kind = Macroblock.Kind.inter
    if pattern == 0, motion == skipMotion {
      skipRun += 1
      kind = .skipped
    } else {
      putInterHeader(job, motion: motion, pattern: pattern, column: column, row: row, into: &sink)
      if pattern != 0 { putQPDelta(to: qp, into: &sink) }
      coded = putLuma(
        column: column, row: row, pattern: pattern & 15, blocks: blocks, first: 0, into: &sink)
      putChroma(
        column: column, row: row, pattern: residual.pattern, blocks: residual.blocks, into: &sink)
    }
    unsafe porthole_inverse_luma(
      job.target.luma(x: column * 16, y: row * 16), job.target.stride, prediction,
      reference.view.stride, quantizer, work.luma.pointer(), nil, blocks)
    unsafe restoreChroma(
      job, residual, prediction: chroma.samples, stride: chroma.stride,
      quantizer: chromaQuantizer, column: column, row: row)
    macroblocks[row * columns + column] = Macroblock(
      kind: kind, qp: UInt8(lastQP), coded: coded, motion: motion)
  }

  /// A P_L0_16x16 macroblock up to its coded_block_pattern.
  mutating func putInterHeader(
    _ job: borrowing PictureJob, motion: Motion, pattern: Int, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    let predicted = predictedMotion(column: column, row: row)
    putSkipRun(job, into: &sink)
    sink.putUE(0)
    // Motion vectors are said in quarter samples.
    sink.putSE(4 * (Int(motion.x) - Int(predicted.x)))
    sink.putSE(4 * (Int(motion.y) - Int(predicted.y)))
    sink.putUE(Int(interPatternCodes[pattern]))
  }

  @unsafe private struct ChromaPrediction {
    let samples: UnsafePointer<UInt8>
    let stride: Int
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

  /// A bit for each 8x8 with levels in one of its 4x4 blocks.
  private func lumaPattern(of blocks: UInt32) -> Int {
    var pattern = blocks & 0x0033 != 0 ? 1 : 0
    if blocks & 0x00cc != 0 { pattern |= 2 }
    if blocks & 0x3300 != 0 { pattern |= 4 }
    if blocks & 0xcc00 != 0 { pattern |= 8 }
    return pattern
  }
}
