internal import CPixelKernels

/// The modes of Intra_4x4 blocks that later ones are predicted from (clause 8.3.1.1).
struct Intra4x4Modes {
  /// Of the lowest blocks of the macroblocks above, four a macroblock.
  let above: Table<UInt8>
  /// Of the right blocks of the macroblock at the left.
  let left: Table<UInt8>

  /// Intra_4x4_DC, which blocks of other macroblocks stand for.
  static let dc: UInt8 = 2

  init(columns: Int) throws(DriverError) {
    above = try Table(count: 4 * columns)
    left = try Table(count: 4)
  }

  /// Takes over what a macroblock was coded with, 16 modes in raster order.
  func note(_ modes: UnsafePointer<UInt8>, column: Int) {
    for index in 0..<4 {
      unsafe above[4 &* column &+ index] = modes[12 &+ index]
      unsafe left[index] = modes[4 &* index &+ 3]
    }
  }
}

extension PictureEncoder {
  /// Chooses the mode of each 4x4 block, codes it and reconstructs it, for the next looks at it.
  func decideIntra4x4(
    _ job: borrowing PictureJob, chromaMode: Int, column: Int, row: Int, qp: Int, set: Int
  ) -> DecidedMacroblock {
    let available = intraNeighbours(job, column: column, row: row)
    let quantizer = unsafe work.quantizers.pointer(at: 2 * qp)
    let modes = unsafe work.modes.pointer(at: 16 * set)
    let neighbours = modesAround(job, column: column, row: row)
    var blocks: UInt32 = 0
    for coded in 0..<16 {
      // Blocks come in the order of 8x8 quarters.
      let x = (coded & 1) | (coded &>> 1 & 2)
      let y = (coded &>> 1 & 1) | (coded &>> 2 & 2)
      let index = 4 &* y &+ x
      let source = unsafe job.source.luma(x: column &* 16 &+ 4 &* x, y: row &* 16 &+ 4 &* y)
      let target = unsafe job.target.luma(x: column &* 16 &+ 4 &* x, y: row &* 16 &+ 4 &* y)
      let left = unsafe x > 0 ? modes[index &- 1] : neighbours.left(y)
      let above = unsafe y > 0 ? modes[index &- 4] : neighbours.above(x)
      let likely = left == nil || above == nil ? Intra4x4Modes.dc : min(left ?? 0, above ?? 0)
      var mode: Int32 = 2
      let prediction = unsafe work.blockPrediction.pointer()
      _ = unsafe porthole_choose_intra_4x4(
        source, job.source.stride, target, job.target.stride, within(available, x: x, y: y),
        Int32(likely), UInt32(work.lambda(qp: qp) / 2), prediction, &mode)
      let hasLevels = unsafe porthole_code_4x4(
        source, job.source.stride, target, job.target.stride, prediction, quantizer,
        work.luma.pointer(at: 256 &* set &+ 16 &* index),
        work.masks.pointer(at: Workspace.masksPerSet &* set &+ index))
      if hasLevels != 0 { blocks |= 1 &<< UInt32(index) }
      unsafe modes[index] = UInt8(truncatingIfNeeded: mode)
      work.modeCodes[16 &* set &+ coded] = Self.modeCode(UInt8(mode), likely: likely)
    }
    let chroma = unsafe codeIntraChroma(
      job, mode: chromaMode, qp: qp, set: set, column: column, row: row)
    return DecidedMacroblock(
      prediction: .intra4x4, chromaMode: chromaMode, lumaBlocks: blocks, chroma: chroma, qp: qp,
      set: set)
  }

  /// prev_intra4x4_pred_mode_flag is 1 for this code; others are rem_intra4x4_pred_mode.
  static let likelyModeCode: UInt8 = 8

  private static func modeCode(_ mode: UInt8, likely: UInt8) -> UInt8 {
    mode == likely ? likelyModeCode : mode < likely ? mode : mode &- 1
  }

  /// What a block inside a macroblock may predict from, given what the macroblock may.
  @inline(__always) private func within(_ available: Int32, x: Int, y: Int) -> Int32 {
    let left = x > 0 || available & Int32(PORTHOLE_LEFT) != 0
    let above = y > 0 || available & Int32(PORTHOLE_ABOVE) != 0
    let corner: Bool
    switch (x > 0, y > 0) {
    case (true, true): corner = true
    case (true, false): corner = above
    case (false, true): corner = left
    case (false, false): corner = available & Int32(PORTHOLE_CORNER) != 0
    }
    let aboveRight: Bool
    if y == 0 {
      aboveRight = x < 3 ? above : available & Int32(PORTHOLE_ABOVE_RIGHT) != 0
    } else {
      // The others lie in blocks that come later.
      aboveRight = x != 3 && (x != 1 || y & 1 == 0)
    }
    return (left ? Int32(PORTHOLE_LEFT) : 0) | (above ? Int32(PORTHOLE_ABOVE) : 0)
      | (corner ? Int32(PORTHOLE_CORNER) : 0) | (aboveRight ? Int32(PORTHOLE_ABOVE_RIGHT) : 0)
  }

  /// The modes next to a macroblock; nil where no block may be looked at.
  @safe private struct ModesAround {
    let aboveModes: UnsafePointer<UInt8>?
    let leftModes: UnsafePointer<UInt8>?
    let hasAbove: Bool
    let hasLeft: Bool

    @inline(__always) func above(_ x: Int) -> UInt8? {
      guard hasAbove else { return nil }
      return unsafe aboveModes?[x] ?? Intra4x4Modes.dc
    }

    @inline(__always) func left(_ y: Int) -> UInt8? {
      guard hasLeft else { return nil }
      return unsafe leftModes?[y] ?? Intra4x4Modes.dc
    }
  }

  private func modesAround(_ job: borrowing PictureJob, column: Int, row: Int) -> ModesAround {
    let index = row * columns + column
    let available = intraNeighbours(job, column: column, row: row)
    let hasAbove = available & Int32(PORTHOLE_ABOVE) != 0
    let hasLeft = available & Int32(PORTHOLE_LEFT) != 0
    let above = hasAbove && macroblocks[index - columns].kind == .intra4x4
    let left = hasLeft && macroblocks[index - 1].kind == .intra4x4
    return unsafe ModesAround(
      aboveModes: above ? UnsafePointer(modes.above.pointer(at: 4 * column)) : nil,
      leftModes: left ? UnsafePointer(modes.left.pointer()) : nil, hasAbove: hasAbove,
      hasLeft: hasLeft)
  }
}
