extension PictureEncoder {
  /// A neighbour's part in motion prediction; nil outside the picture.
  private struct Neighbour {
    let motion: Motion
    let refers: Bool
  }

  @inline(__always) private func neighbour(column: Int, row: Int) -> Neighbour? {
    guard column >= 0, column < columns, row >= 0 else { return nil }
    let macroblock = macroblocks[row &* columns &+ column]
    return macroblock.isIntra
      ? Neighbour(motion: .zero, refers: false)
      : Neighbour(motion: macroblock.motion, refers: true)
  }

  /// The motion vector prediction of a 16x16 partition (clause 8.4.1.3).
  func predictedMotion(column: Int, row: Int) -> Motion {
    let a = neighbour(column: column - 1, row: row)
    let b = neighbour(column: column, row: row - 1)
    let c =
      neighbour(column: column + 1, row: row - 1) ?? neighbour(column: column - 1, row: row - 1)
    if b == nil, c == nil, let a { return a.motion }
    let refers = (a?.refers ?? false, b?.refers ?? false, c?.refers ?? false)
    switch refers {
    case (true, false, false): return a?.motion ?? .zero
    case (false, true, false): return b?.motion ?? .zero
    case (false, false, true): return c?.motion ?? .zero
    default:
      let (a, b, c) = (a?.motion ?? .zero, b?.motion ?? .zero, c?.motion ?? .zero)
      return Motion(x: median(a.x, b.x, c.x), y: median(a.y, b.y, c.y))
    }
  }

  /// The motion vector that P_Skip implies (clause 8.4.1.1).
  func skipMotion(column: Int, row: Int) -> Motion {
    guard column > 0, row > 0 else { return .zero }
    let index = row &* columns &+ column
    let left = macroblocks[index &- 1]
    if !left.isIntra, left.motion == .zero { return .zero }
    let above = macroblocks[index &- columns]
    if !above.isIntra, above.motion == .zero { return .zero }
    return predictedMotion(column: column, row: row)
  }

  @inline(__always) private func median(_ a: Int16, _ b: Int16, _ c: Int16) -> Int16 {
    max(min(a, b), min(max(a, b), c))
  }
}
