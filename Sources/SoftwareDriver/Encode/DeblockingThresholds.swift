internal import CPixelKernels

/// Tables 8-16 and 8-17.
struct DeblockingThresholds {
  private let alpha: Table<UInt8>
  private let beta: Table<UInt8>
  /// tC0 by index * 4 + bS, bS 1 to 3.
  private let bound: Table<Int8>

  init() throws(DriverError) {
    alpha = try Table(count: 52)
    beta = try Table(count: 52)
    bound = try Table(count: 52 * 4)
    for (index, value) in alphaValues.enumerated() { alpha[16 + index] = value }
    for (index, value) in betaValues.enumerated() { beta[16 + index] = value }
    for index in 0..<52 {
      bound[index * 4] = -1
      for strength in 1...3 where index >= 17 {
        bound[index * 4 + strength] = boundValues[(index - 17) * 3 + strength - 1]
      }
    }
  }

  /// What the kernels need for an edge; nil where the filter has no effect.
  @inline(__always) func edge(
    _ strengths: EdgeStrengths, qp: Int, _ offsets: PictureJob.DeblockingOffsets
  ) -> porthole_edge? {
    let indexA = min(max(qp &+ offsets.alpha, 0), 51)
    let indexB = min(max(qp &+ offsets.beta, 0), 51)
    guard alpha[indexA] != 0, beta[indexB] != 0 else { return nil }
    var edge = porthole_edge()
    edge.alpha = Int16(alpha[indexA])
    edge.beta = Int16(beta[indexB])
    if strengths[0] == 4 {
      edge.is_strong = 1
    } else {
      edge.strength_bound = (
        bound[indexA &* 4 &+ strengths[0]], bound[indexA &* 4 &+ strengths[1]],
        bound[indexA &* 4 &+ strengths[2]], bound[indexA &* 4 &+ strengths[3]]
      )
    }
    return edge
  }
}

/// From index 16 on; 0 before.
private let alphaValues: [UInt8] = [
  4, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 17, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90,
  101, 113, 127, 144, 162, 182, 203, 226, 255, 255,
]

private let betaValues: [UInt8] = [
  2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15,
  15, 16, 16, 17, 17, 18, 18,
]

/// From index 17 on, three a row; 0 before.
private let boundValues: [Int8] = [
  0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 2, 3, 1, 2, 3, 2, 2, 3, 2, 2, 4, 2, 3, 4, 2, 3, 4,
  3, 3, 5, 3, 4, 6, 3, 4, 6, 4, 5, 7, 4, 5, 8, 4, 6, 9, 5, 7, 10, 6, 8, 11, 6, 8, 13, 7, 10, 14,
  8, 11, 16, 9, 12, 18, 10, 13, 20, 11, 15, 23, 13, 17, 25,
]
