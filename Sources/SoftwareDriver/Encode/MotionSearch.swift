internal import CPixelKernels

/// A motion vector and what it costs: SAD, and its bits weighed by lambda.
struct MotionChoice {
  var motion: Motion
  var cost: Int
}

extension PictureEncoder {
  private static let refinementSteps = 12
  /// A cost of so many bits is not worth a better motion vector.
  private static let plainBits = 32

  /// The best whole-sample motion vector among the neighbours', the picture's, and what lies around
  /// the best of those.
  func searchMotion(
    _ job: borrowing PictureJob, _ reference: borrowing PictureJob.Reference, skipMotion: Motion,
    qp: Int, column: Int, row: Int
  ) -> MotionChoice {
    let lambda = work.lambda(qp: qp)
    let plainCost = lambda &* Self.plainBits
    let predicted = predictedMotion(column: column, row: row)
    let source = unsafe job.source.luma(x: column * 16, y: row * 16)

    func cost(_ motion: Motion, sad: UInt32) -> Int {
      Int(sad) &+ (motion == skipMotion ? 0 : lambda &* motionBits(motion, predicted))
    }
    func rated(_ motion: Motion) -> MotionChoice {
      let reached = motion.clamped(column: column, row: row, columns: columns, rows: rows)
      let sad = unsafe porthole_sad_16x16(
        source, job.source.stride,
        reference.view.luma(
          x: column &* 16 &+ Int(reached.x), y: row &* 16 &+ Int(reached.y)),
        reference.view.stride)
      return MotionChoice(motion: reached, cost: cost(reached, sad: sad))
    }

    var best = rated(skipMotion)
    // What comes as near as the neighbours' motion did is not looked for further.
    let nearCost = nearCost(column: column)
    let enough = max(plainCost, nearCost &+ nearCost / 8)
    if best.cost <= enough { return best }
    var tried: [12 of Motion] = .init(repeating: skipMotion)
    var triedCount = 1
    func consider(_ motion: Motion) {
      for index in 0..<triedCount where tried[index] == motion { return }
      tried[triedCount] = motion
      triedCount &+= 1
      let choice = rated(motion)
      if choice.cost < best.cost { best = choice }
    }
    consider(predicted)
    consider(.zero)
    let index = row &* columns &+ column
    if column > 0 { consider(macroblocks[index &- 1].motion) }
    if row > 0 {
      consider(macroblocks[index &- columns].motion)
      if column &+ 1 < columns { consider(macroblocks[index &- columns &+ 1].motion) }
    }
    if best.cost <= enough { return best }
    for candidate in 0..<scout.count { consider(scout.motions[candidate]) }

    var steps = 0
    while best.cost > plainCost, steps < Self.refinementSteps {
      let centre = best.motion
      let x = column &* 16 &+ Int(centre.x)
      let y = row &* 16 &+ Int(centre.y)
      // At the edges of the picture, and of what the level allows, the vector stays as it is.
      guard x > 0, y > 0, x < columns &* 16 &- 16, y < rows &* 16 &- 16,
        abs(Int(centre.y)) < Motion.verticalRange &- 1
      else { break }
      unsafe porthole_sad_cross_16x16(
        source, job.source.stride, reference.view.luma(x: x, y: y), reference.view.stride,
        work.sads.pointer())
      for side in 0..<4 {
        let motion = Motion(
          x: Int(centre.x) &+ (side == 0 ? -1 : side == 1 ? 1 : 0),
          y: Int(centre.y) &+ (side == 2 ? -1 : side == 3 ? 1 : 0))
        let cost = cost(motion, sad: work.sads[side])
        if cost < best.cost { best = MotionChoice(motion: motion, cost: cost) }
      }
      if best.motion == centre { break }
      steps &+= 1
    }
    return best
  }

  /// The least cost among the neighbours whose motion was searched; 0 where none was.
  @inline(__always) private func nearCost(column: Int) -> Int {
    var least = Int32.max
    for near in max(0, column &- 1)..<min(columns, column &+ 2) where motionCosts[near] > 0 {
      least = min(least, motionCosts[near])
    }
    return least == .max ? 0 : Int(least)
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
