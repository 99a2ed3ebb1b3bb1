internal import CPixelKernels

extension PictureEncoder {
  /// Slice data of I_PCM and, where the source equals the reference, P_Skip.
  ///
  /// The zero motion vector is always the predicted one here: no macroblock has another.
  mutating func encodeLossless(_ job: borrowing PictureJob, into sink: inout BitSink) {
    hashSource(of: job)
    skipRun = 0
    for row in 0..<rows {
      for column in 0..<columns {
        if let reference = job.reference,
          isUnchanged(job, reference, column: column, row: row)
        {
          repeatMacroblock(job, reference, column: column, row: row)
          skipRun += 1
        } else {
          if job.reference != nil {
            sink.putUE(skipRun)
            skipRun = 0
          }
          putPCM(job, column: column, row: row, into: &sink)
        }
      }
    }
    if skipRun > 0 { sink.putUE(skipRun) }
  }

  private func isUnchanged(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int, row: Int
  ) -> Bool {
    let index = row * columns + column
    guard job.memory.hashes[index] == reference.memory.hashes[index] else { return false }
    let x = column * 16
    let y = row * 16
    return unsafe porthole_macroblock_ssd(
      job.source.luma(x: x, y: y), job.source.chroma(x: x / 2, y: y / 2), job.source.stride,
      reference.view.luma(x: x, y: y), reference.view.chroma(x: x / 2, y: y / 2),
      reference.view.stride) == 0
  }

  /// Writes an I_PCM macroblock (clause 7.3.5) and copies the source to the target.
  mutating func putPCM(
    _ job: borrowing PictureJob, column: Int, row: Int, into sink: inout BitSink
  ) {
    let index = row * columns + column
    job.memory.serials[index] = nextSerial()
    job.memory.qualities[index] = 0
    // mb_type 25, behind the five P types in a P slice (tables 7-11 and 7-13).
    sink.putUE(job.reference == nil ? 25 : 30)
    sink.alignWithZeros()
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
  }
}
