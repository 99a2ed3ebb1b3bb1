internal import CPixelKernels

/// Decisions weighed against each other by what they really cost: squared differences of the
/// reconstruction, and bits.
///
/// Each is reconstructed in the target and written where it would stand, over the one before: in
/// CAVLC even where CABAC will write it, as that is near enough and much less work. When the last one
/// is the best, it is not reconstructed again, and in CAVLC not written again.
struct MacroblockTrial {
  fileprivate(set) var best: DecidedMacroblock?
  fileprivate var cost = Int.max
  /// The best decision as it was written, while nothing was written over it.
  fileprivate var written: Written?

  /// The set of levels that another decision may fill.
  var freeSet: Int { best.map { 1 &- $0.set } ?? 0 }

  /// Where the coder stands behind a macroblock that was written.
  fileprivate struct Written {
    let sink: BitSink
    let skipRun: Int
    let lastQP: Int
    let coded: UInt16?
  }
}

extension PictureEncoder {
  /// Weighs a decision that fills the free set and whose reconstruction `decide` leaves in the target.
  func attempt(
    _ trial: inout MacroblockTrial, _ job: borrowing PictureJob, column: Int, row: Int,
    at sink: BitSink, _ decide: (Int) -> DecidedMacroblock
  ) {
    if trial.written != nil { keep(job, column: column, row: row) }
    let decided = decide(trial.freeSet)
    let before = (skipRun, lastQP)
    var end = sink
    let coded = writeCAVLC(decided, job, column: column, row: row, into: &end)
    let written = MacroblockTrial.Written(
      sink: end, skipRun: skipRun, lastQP: lastQP, coded: coded)
    (skipRun, lastQP) = before
    let cost =
      distance(job, column: column, row: row)
      &+ work.bitCost(qp: decided.qp) &* (end.bitCount &- sink.bitCount)
    if cost < trial.cost {
      trial.best = decided
      trial.cost = cost
      trial.written = written
    } else {
      trial.written = nil
    }
  }

  /// Ends with the best decision written and its reconstruction in the target.
  func settle(
    _ trial: MacroblockTrial, _ job: borrowing PictureJob, column: Int, row: Int,
    into sink: inout BitSink
  ) {
    guard let best = trial.best else { return }
    if let written = trial.written, !usesCABAC {
      sink = written.sink
      skipRun = written.skipRun
      lastQP = written.lastQP
      remember(best, coded: written.coded, column: column, row: row)
      return
    }
    if trial.written == nil {
      unsafe porthole_copy_macroblock(
        work.kept.pointer(), work.kept.pointer(at: 256), 16,
        job.target.luma(x: column &* 16, y: row &* 16),
        job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride)
    }
    finish(best, job, column: column, row: row, into: &sink)
  }

  private func keep(_ job: borrowing PictureJob, column: Int, row: Int) {
    unsafe porthole_copy_macroblock(
      job.target.luma(x: column &* 16, y: row &* 16),
      job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride, work.kept.pointer(),
      work.kept.pointer(at: 256), 16)
  }

  private func distance(_ job: borrowing PictureJob, column: Int, row: Int) -> Int {
    unsafe Int(
      porthole_macroblock_ssd(
        job.source.luma(x: column &* 16, y: row &* 16),
        job.source.chroma(x: column &* 8, y: row &* 8), job.source.stride,
        job.target.luma(x: column &* 16, y: row &* 16),
        job.target.chroma(x: column &* 8, y: row &* 8), job.target.stride))
  }
}
