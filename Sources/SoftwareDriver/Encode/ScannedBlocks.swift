internal import CPixelKernels

/// A decided macroblock's levels as residual blocks in scan order; one is valid at a time.
extension PictureEncoder {
  /// The 16 levels that Intra_16x16 codes first.
  @inline(__always) func lumaDCBlock(of decided: borrowing DecidedMacroblock) -> ResidualBlock {
    let mask = unsafe porthole_zigzag(
      work.lumaDCLevels.pointer(at: 16 &* decided.set), work.ordered.pointer())
    return unsafe ResidualBlock(
      levels: UnsafePointer(work.ordered.pointer()), mask: mask, size: 16)
  }

  /// Luma block `index` in raster order; `first` is 1 where DC is apart.
  @inline(__always) func lumaBlock(
    _ index: Int, of decided: borrowing DecidedMacroblock, first: Int
  ) -> ResidualBlock {
    var mask: UInt32 = 0
    if decided.lumaBlocks &>> UInt32(index) & 1 == 1 {
      mask =
        unsafe porthole_zigzag(
          work.luma.pointer(at: 256 &* decided.set &+ 16 &* index), work.ordered.pointer())
        &>> UInt32(first)
    }
    return unsafe ResidualBlock(
      levels: UnsafePointer(work.ordered.pointer(at: first)), mask: mask, size: 16 &- first)
  }

  /// The four DC levels of Cb or Cr.
  @inline(__always) func chromaDCBlock(
    _ component: Int, of decided: borrowing DecidedMacroblock
  ) -> ResidualBlock {
    let levels = unsafe UnsafePointer(
      work.chromaDCLevels.pointer(at: 8 &* decided.set &+ 4 &* component))
    var mask: UInt32 = 0
    for index in 0..<4 where unsafe levels[index] != 0 { mask |= 1 &<< UInt32(index) }
    return unsafe ResidualBlock(levels: levels, mask: mask, size: 4)
  }

  /// AC levels of chroma block `index`: Cb from 0, Cr from 4.
  @inline(__always) func chromaBlock(
    _ index: Int, of decided: borrowing DecidedMacroblock
  ) -> ResidualBlock {
    var mask: UInt32 = 0
    if decided.chroma.blocks &>> UInt32(index) & 1 == 1 {
      mask =
        unsafe porthole_zigzag(
          work.chroma.pointer(at: 128 &* decided.set &+ 16 &* index), work.ordered.pointer()) &>> 1
    }
    return unsafe ResidualBlock(
      levels: UnsafePointer(work.ordered.pointer(at: 1)), mask: mask, size: 15)
  }
}
