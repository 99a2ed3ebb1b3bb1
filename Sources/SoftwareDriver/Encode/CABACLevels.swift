/// The residual syntax of a macroblock in CABAC (clause 7.3.5.3).
extension PictureEncoder {
  /// Writes the macroblock's blocks, and notes in `here` which have levels. Counts them too, as trials
  /// are written in CAVLC.
  func putResidual(
    _ decided: borrowing DecidedMacroblock, _ here: inout MacroblockContext,
    _ around: ContextNeighbours, into sink: inout BitSink
  ) {
    if decided.hasLumaDC {
      let flags = around.flags(MacroblockContext.lumaDC)
      put(
        lumaDCBlock(of: decided), .lumaDC, at: MacroblockContext.lumaDC, flags, &here, into: &sink)
    }
    let first = decided.hasLumaDC ? 1 : 0
    for quarter in 0..<4 where decided.lumaPattern &>> quarter & 1 == 1 {
      for part in 0..<4 {
        let x = (quarter & 1) &* 2 &+ (part & 1)
        let y = (quarter & 2) &+ (part &>> 1)
        let index = y &* 4 &+ x
        let left = x > 0 ? here.flag(index &- 1) : around.left.flag(index &+ 3)
        let above = y > 0 ? here.flag(index &- 4) : around.above.flag(index &+ 12)
        let block = lumaBlock(index, of: decided, first: first)
        put(
          block, first == 1 ? .lumaAC : .luma, at: index, left &+ 2 &* above, &here, into: &sink)
        counts.set(.luma, x: x, y: y, to: block.count)
      }
    }
    guard decided.chroma.pattern > 0 else { return }
    for component in 0..<2 {
      let index = MacroblockContext.chromaDC &+ component
      put(
        chromaDCBlock(component, of: decided), .chromaDC, at: index, around.flags(index), &here,
        into: &sink)
    }
    guard decided.chroma.pattern == 2 else { return }
    for index in 16..<24 {
      let plane: LevelCounts.Plane = index < 20 ? .cb : .cr
      let x = index & 1
      let y = index &>> 1 & 1
      let left = x > 0 ? here.flag(index &- 1) : around.left.flag(index &+ 1)
      let above = y > 0 ? here.flag(index &- 2) : around.above.flag(index &+ 2)
      let block = chromaBlock(index &- 16, of: decided)
      put(block, .chromaAC, at: index, left &+ 2 &* above, &here, into: &sink)
      counts.set(plane, x: x, y: y, to: block.count)
    }
  }

  /// coded_block_flag, and the block where it has levels.
  @inline(__always) private func put(
    _ block: ResidualBlock, _ category: BlockCategory, at index: Int, _ neighbours: Int,
    _ here: inout MacroblockContext, into sink: inout BitSink
  ) {
    let context = CABACContexts.blockFlag &+ category.flagOffset &+ neighbours
    cabac.put(block.mask != 0, context, into: &sink)
    guard block.mask != 0 else { return }
    here.coded |= 1 &<< UInt32(index)
    cabac.put(block, category, into: &sink)
  }
}
