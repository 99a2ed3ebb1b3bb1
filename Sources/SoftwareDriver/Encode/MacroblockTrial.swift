internal import CPixelKernels

/// Decisions weighed against each other by what they really cost: squared differences of the
/// reconstruction, and bits.
extension PictureEncoder {
  /// The best of the decisions tried so far.
  struct Trial {
    var best: DecidedMacroblock
    var cost: Int
    /// Whether its reconstruction stands in the target; else it is kept apart.
    var isInTarget: Bool

    /// The set of levels that another decision may fill.
    var freeSet: Int { 1 &- best.set }
  }

  /// Weighs a first decision, whose reconstruction stands in the target.
  mutating func beginTrial(
    _ decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    at sink: BitSink
  ) -> Trial {
    Trial(
      best: decided, cost: cost(of: decided, job, column: column, row: row, at: sink),
      isInTarget: true)
  }

  /// Makes another decision, which fills the free set, and takes it when it costs less.
  mutating func attempt(
    _ trial: inout Trial, _ job: borrowing PictureJob, column: Int, row: Int, at sink: BitSink,
    _ decide: (borrowing PictureEncoder, Int) -> DecidedMacroblock
  ) {
    if trial.isInTarget { keep(job, column: column, row: row) }
    let decided = decide(self, trial.freeSet)
    let cost = cost(of: decided, job, column: column, row: row, at: sink)
    trial.isInTarget = cost < trial.cost
    if trial.isInTarget {
      trial.best = decided
      trial.cost = cost
    }
  }

  /// Puts the best decision's reconstruction into the target. Answers the decision.
  func settle(
    _ trial: Trial, _ job: borrowing PictureJob, column: Int, row: Int
  ) -> DecidedMacroblock {
    if !trial.isInTarget {
      unsafe porthole_copy_macroblock(
        work.kept.pointer(), work.kept.pointer(at: 256), 16,
        job.target.luma(x: column &* 16, y: row &* 16),
        job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
    }
    return trial.best
  }

  private func keep(_ job: borrowing PictureJob, column: Int, row: Int) {
    unsafe porthole_copy_macroblock(
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride, work.kept.pointer(),
      work.kept.pointer(at: 256), 16)
  }

  /// Writes the macroblock where it would stand, and takes that back: in CAVLC even where CABAC will
  /// write it, as that is near enough and much less work.
  private mutating func cost(
    of decided: DecidedMacroblock, _ job: borrowing PictureJob, column: Int, row: Int,
    at sink: BitSink
  ) -> Int {
    let run = skipRun
    let qp = lastQP
    var written = sink
    writeCAVLC(decided, job, column: column, row: row, into: &written)
    skipRun = run
    lastQP = qp
    let distance = unsafe porthole_macroblock_ssd(
      job.source.luma(x: column &* 16, y: row &* 16),
      job.source.chroma(x: column &* 8, y: row &* 8), job.source.stride,
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
    return Int(distance) &+ work.bitCost(qp: decided.qp) &* (written.bitCount &- sink.bitCount)
  }
}
