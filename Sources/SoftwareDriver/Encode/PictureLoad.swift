internal import CPixelKernels

/// How much there is to code in a picture, known before it is coded.
struct PictureLoad {
  /// Macroblocks whose source is not the reference's.
  var changedCount = 0
  /// Sum over them of what prediction cannot be sure to take away.
  var detail = 0
  /// Macroblocks whose source is the reference's, coded so coarsely that text is hard to read.
  var coarseCount = 0
  /// Macroblocks whose source is the reference's, and that may still be brought nearer to it: those, and others.
  var blurredCount = 0

  /// What a macroblock costs besides its detail, in the same unit.
  static let plainDetail = 48
  /// From this QP on small text is hard to read.
  static let coarseQP: UInt8 = 34

  /// Whether a macroblock of that quality, as `Reconstruction` has it, is known to be so coarse.
  static func isCoarse(_ quality: UInt8) -> Bool {
    quality != Reconstruction.unknownQuality && quality & ~Reconstruction.residue > coarseQP
  }
}

extension PictureEncoder {
  /// Counts what changed, and keeps each macroblock's detail; the source has been hashed. `best` is the QP
  /// that what stands still is brought to.
  func measureLoad(of job: borrowing PictureJob, best: Int) -> PictureLoad {
    var load = PictureLoad()
    for row in 0..<rows {
      let job = job.around(row: row)
      for column in 0..<columns {
        let index = row &* columns &+ column
        if let reference = job.reference,
          job.memory.hashes[index] == reference.memory.hashes[index]
        {
          let quality = reference.memory.qualities[index]
          if Int(quality) > best { load.blurredCount &+= 1 }
          if PictureLoad.isCoarse(quality) { load.coarseCount &+= 1 }
          continue
        }
        let detail = PictureLoad.plainDetail &+ detail(job, column: column, row: row)
        details[index] = Int32(truncatingIfNeeded: detail)
        load.changedCount &+= 1
        load.detail &+= detail
      }
    }
    return load
  }

  /// The lesser of how much the source varies and how far it is from the reference.
  func detail(_ job: borrowing PictureJob, column: Int, row: Int) -> Int {
    let source = unsafe job.source.luma(x: column &* 16, y: row &* 16)
    let activity = unsafe Int(porthole_activity_16x16(source, job.source.stride))
    guard let reference = job.reference else { return activity }
    let distance = unsafe porthole_sad_16x16(
      source, job.source.stride, reference.view.luma(x: column &* 16, y: row &* 16),
      reference.view.stride)
    return min(activity, Int(distance))
  }
}
