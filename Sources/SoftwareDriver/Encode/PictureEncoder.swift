internal import CPixelKernels

/// Codes one picture at a time into one slice; holds the tables of one picture size and nothing of
/// the pictures before, which live in the surfaces.
struct PictureEncoder: ~Copyable {
  let columns: Int
  let rows: Int
  let macroblocks: Table<Macroblock>
  /// total_coeff of each 4x4 block, 24 a macroblock.
  let counts: Table<UInt8>
  /// How much there is to code in each changed macroblock, in `PictureLoad`'s unit.
  let details: Table<Int32>
  let work: Workspace
  var scout: MotionScout
  /// The last serial given to a macroblock's pixels.
  var lastSerial: UInt32 = 0
  /// P_Skip macroblocks that wait to be written as one mb_skip_run.
  var skipRun = 0
  /// QPY,PRED of the next macroblock.
  var lastQP = 0

  init(columns: Int, rows: Int) throws(DriverError) {
    let macroblocks = try Table<Macroblock>(count: columns * rows)
    let counts = try Table<UInt8>(count: columns * rows * Self.countsPerMacroblock)
    let details = try Table<Int32>(count: columns * rows)
    let work = try Workspace()
    let scout = try MotionScout()
    self.columns = columns
    self.rows = rows
    self.macroblocks = macroblocks
    self.counts = counts
    self.details = details
    self.work = work
    self.scout = scout
  }

  /// Hashes the source into the target's memory.
  func hashSource(of job: borrowing PictureJob) {
    for row in 0..<rows {
      let job = job.around(row: row)
      unsafe porthole_hash_macroblocks(
        job.source.luma(x: 0, y: row * 16), job.source.chroma(x: 0, y: row * 8),
        job.source.stride, Int32(columns), job.memory.hashes.pointer(at: row * columns))
    }
  }

  /// Forgets the picture before.
  mutating func beginSlice(of job: borrowing PictureJob) {
    counts.clear()
    skipRun = 0
    lastQP = job.sliceQP
  }

  /// Codes a macroblock as the reference's pixels at the same place.
  mutating func codeRepeat(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int,
    row: Int, into sink: inout BitSink
  ) {
    var kind = Macroblock.Kind.skipped
    if skipMotion(column: column, row: row) == .zero {
      skipRun &+= 1
    } else {
      kind = .inter
      putInterHeader(job, motion: .zero, pattern: 0, column: column, row: row, into: &sink)
    }
    let index = row &* columns &+ column
    macroblocks[index] = Macroblock(
      kind: kind, qp: UInt8(truncatingIfNeeded: lastQP), coded: 0, motion: .zero)
    let serial = reference.memory.serials[index]
    guard serial != job.memory.serials[index] else { return }
    job.memory.serials[index] = serial
    unsafe porthole_copy_macroblock(
      reference.view.luma(x: column &* 16, y: row &* 16),
      reference.view.chroma(x: column &* 8, y: row &* 8), reference.view.stride,
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
  }

  /// Gives a macroblock of the target a serial that no pixels had before.
  mutating func renewSerial(of index: Int, in job: borrowing PictureJob) {
    lastSerial &+= 1
    job.memory.serials[index] = lastSerial
  }
}
