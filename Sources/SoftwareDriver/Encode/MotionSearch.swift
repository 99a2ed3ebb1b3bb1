internal import CPixelKernels

/// A motion vector and what it costs: SAD, and its bits weighed by lambda.
struct MotionChoice {
  var motion: Motion
  var cost: Int
}

extension PictureEncoder {
  /// Motion vectors below this cost, a quarter a sample, are not refined.
  private static let plainCost = 64
  private static let refinementSteps = 12

  /// The best whole-sample motion vector among the neighbours', the picture's, and what lies around
  /// the best of those.
  func searchMotion(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, skipMotion: Motion,
    qp: Int, column: Int, row: Int
  ) -> MotionChoice {
    let lambda = work.lambda(qp: qp)
    let predicted = predictedMotion(column: column, row: row)
    let source = unsafe job.source.luma(x: column * 16, y: row * 16)

    func rated(_ motion: Motion) -> MotionChoice {
      let reached = motion.clamped(
        column: column, row: row, columns: columns, rows: rows)
      let sad = unsafe porthole_sad_16x16(
        source, job.source.stride,
        reference.view.luma(
          x: column &* 16 &+ Int(reached.x), y: row &* 16 &+ Int(reached.y)),
        reference.view.stride)
      let bits = reached == skipMotion ? 0 : motionBits(reached, predicted)
      return MotionChoice(motion: reached, cost: Int(sad) &+ lambda &* bits)
    }

    var best = rated(skipMotion)
    func consider(_ motion: Motion) {
      guard motion != best.motion else { return }
      let choice = rated(motion)
      if choice.cost < best.cost { best = choice }
    }

    if best.cost <= Self.plainCost { return best }
    consider(.zero)
    consider(predicted)
    let index = row &* columns &+ column
    if column > 0 { consider(macroblocks[index &- 1].motion) }
    if row > 0 {
      consider(macroblocks[index &- columns].motion)
      if column &+ 1 < columns { consider(macroblocks[index &- columns &+ 1].motion) }
    }
    for candidate in 0..<scout.count { consider(scout.motions[candidate]) }
    var steps = 0
    while best.cost > Self.plainCost, steps < Self.refinementSteps {
      let centre = best.motion
      consider(Motion(x: Int(centre.x) &+ 1, y: Int(centre.y)))
      consider(Motion(x: Int(centre.x) &- 1, y: Int(centre.y)))
      consider(Motion(x: Int(centre.x), y: Int(centre.y) &+ 1))
      consider(Motion(x: Int(centre.x), y: Int(centre.y) &- 1))
      if best.motion == centre { break }
      steps &+= 1
    }
    return best
  }

  /// Length of both motion vector differences, in quarter samples, as se(v).
  @inline(__always) private func motionBits(_ motion: Motion, _ predicted: Motion) -> Int {
    func length(_ difference: Int) -> Int {
      let magnitude = UInt32(truncatingIfNeeded: 8 &* abs(difference) &+ 1)
      return 2 &* (31 &- magnitude.leadingZeroBitCount) &+ 1
    }
    return length(Int(motion.x) &- Int(predicted.x)) &+ length(Int(motion.y) &- Int(predicted.y))
  }
}
