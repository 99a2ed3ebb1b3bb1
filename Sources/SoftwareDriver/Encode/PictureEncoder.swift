internal import CPixelKernels

/// Codes one picture at a time into one slice; holds the tables of one picture size and nothing of
/// the pictures before, which live in the surfaces.
final class PictureEncoder {
  let columns: Int
  let rows: Int
  let macroblocks: Table<Macroblock>
  let counts: LevelCounts
  /// How much there is to code in each changed macroblock, in `PictureLoad`'s unit.
  let details: Table<Int32>
  let modes: Intra4x4Modes
  /// What the motion of the last macroblock in each column cost, 0 where it was not searched.
  let motionCosts: Table<Int32>
  let work: Workspace
  var scout: MotionScout
  /// The last serial given to a macroblock's pixels.
  var lastSerial: UInt32 = 0
  /// P_Skip macroblocks since the last coded one, which CAVLC writes as one mb_skip_run.
  var skipRun = 0
  /// QPY,PRED of the next macroblock.
  var lastQP = 0
  /// mb_qp_delta of the macroblock before; 0 where it had none.
  var lastQPDelta = 0
  var usesCABAC = false
  var cabac: CABACEncoder
  let contexts: ContextRows

  init(columns: Int, rows: Int) throws(DriverError) {
    let macroblocks = try Table<Macroblock>(count: columns * rows)
    let counts = try LevelCounts(columns: columns)
    let details = try Table<Int32>(count: columns * rows)
    let modes = try Intra4x4Modes(columns: columns)
    let motionCosts = try Table<Int32>(count: columns)
    let work = try Workspace()
    let scout = try MotionScout()
    let contexts = try ContextRows(columns: columns)
    self.columns = columns
    self.rows = rows
    self.macroblocks = macroblocks
    self.counts = counts
    self.details = details
    self.modes = modes
    self.motionCosts = motionCosts
    self.work = work
    self.scout = scout
    self.contexts = contexts
    unsafe cabac = CABACEncoder(states: CABACStates(memory: work.cabac.pointer()))
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

  /// Codes a macroblock as the reference's pixels at the same place.
  func codeRepeat(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, column: Int,
    row: Int, into sink: inout BitSink
  ) {
    let index = row &* columns &+ column
    let decided = DecidedMacroblock(
      prediction: .inter(.zero), chromaMode: 0, lumaBlocks: 0,
      chroma: .none, qp: lastQP, set: 0)
    finish(decided, job, column: column, row: row, into: &sink)
    let serial = reference.memory.serials[index]
    guard serial != job.memory.serials[index] else { return }
    job.memory.serials[index] = serial
    unsafe porthole_copy_macroblock(
      reference.view.luma(x: column &* 16, y: row &* 16),
      reference.view.chroma(x: column &* 8, y: row &* 8), reference.view.stride,
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
  }

  /// Writes a macroblock, and remembers what later ones need to know of it.
  func finish(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    let coded = write(decided, job, column: column, row: row, into: &sink)
    remember(decided, coded: coded, column: column, row: row)
  }

  /// What `write` answered is `coded`.
  func remember(_ decided: DecidedMacroblock, coded: UInt16?, column: Int, row: Int) {
    if coded == nil { counts.keep(all: 0, column: column) } else { counts.keep(column: column) }
    let kind: Macroblock.Kind
    var motion = Motion.zero
    switch decided.prediction {
    case .inter(let vector):
      motion = vector
      kind = coded == nil ? .skipped : .inter
    case .intra16x16:
      kind = .intra16x16
    case .intra4x4:
      kind = .intra4x4
      unsafe modes.note(work.modes.pointer(at: 16 &* decided.set), column: column)
    }
    macroblocks[row &* columns &+ column] = Macroblock(
      kind: kind, qp: UInt8(truncatingIfNeeded: lastQP), coded: coded ?? 0, motion: motion)
  }

  /// Gives a macroblock of the target a serial that no pixels had before.
  func renewSerial(of index: Int, in job: borrowing PictureJob) {
    lastSerial &+= 1
    job.memory.serials[index] = lastSerial
  }
}
