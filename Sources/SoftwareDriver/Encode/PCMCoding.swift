internal import CPixelKernels

extension PictureEncoder {
  /// Writes an I_PCM macroblock (clause 7.3.5) and copies the source to the target.
  func codePCM(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink
  ) {
    let index = row * columns + column
    renewSerial(of: index, in: job)
    job.memory.qualities[index] = 0
    beginPCM(job, column: column, row: row, into: &sink)
    for line in 0..<16 {
      let pixels = unsafe UnsafeRawPointer(job.source.luma(x: column * 16, y: row * 16 + line))
      for offset in stride(from: 0, to: 16, by: 4) {
        let word = unsafe pixels.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        sink.put(word.bigEndian, bits: 32)
      }
    }
    for component in 0..<2 {
      for line in 0..<8 {
        let pixels = unsafe job.source.chroma(x: column * 8, y: row * 8 + line) + component
        for x in 0..<8 { sink.put(UInt32(unsafe pixels[2 * x]), bits: 8) }
      }
    }
    unsafe porthole_copy_macroblock(
      job.source.luma(x: column * 16, y: row * 16), job.source.chroma(x: column * 8, y: row * 8),
      job.source.stride, job.target.luma(x: column * 16, y: row * 16),
      job.target.chroma(x: column * 8, y: row * 8), job.target.stride)
    macroblocks[index] = Macroblock(kind: .pcm, qp: 0, coded: 0xffff, motion: .zero)
    // Clause 9.2.1: neighbours of an I_PCM macroblock count 16 levels in each of its blocks.
    counts.keep(all: LevelCounts.full, column: column)
  }
}
