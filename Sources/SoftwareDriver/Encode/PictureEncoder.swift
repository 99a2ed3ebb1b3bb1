internal import CPixelKernels

/// Codes one picture at a time into one slice; holds the tables of one picture size and nothing of
/// the pictures before, which live in the surfaces.
struct PictureEncoder: ~Copyable {
  let columns: Int
  let rows: Int
  /// The last serial given to a macroblock's pixels, in any surface of this context.
  var lastSerial: UInt32 = 0
  /// P_Skip macroblocks that wait to be written as one mb_skip_run.
  var skipRun = 0

  var macroblockCount: Int { columns * rows }

  init(columns: Int, rows: Int) throws(DriverError) {
    self.columns = columns
    self.rows = rows
  }

  /// Hashes the source into the target's memory.
  func hashSource(of job: borrowing PictureJob) {
    for row in 0..<rows {
      unsafe porthole_hash_macroblocks(
        job.source.luma(x: 0, y: row * 16), job.source.chroma(x: 0, y: row * 8),
        job.source.stride, Int32(columns), job.memory.hashes.pointer(at: row * columns))
    }
  }

  /// Makes a macroblock of the target equal to the reference's at the same place.
  @inline(__always) func repeatMacroblock(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int, row: Int
  ) {
    let index = row &* columns &+ column
    let serial = reference.memory.serials[index]
    guard serial != job.memory.serials[index] else { return }
    job.memory.serials[index] = serial
    unsafe porthole_copy_macroblock(
      reference.view.luma(x: column &* 16, y: row &* 16),
      reference.view.chroma(x: column &* 8, y: row &* 8), reference.view.stride,
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
  }

  mutating func nextSerial() -> UInt32 {
    lastSerial &+= 1
    return lastSerial
  }
}
