/// A decided macroblock's levels as residual blocks in scan order, valid until its set is filled anew.
extension PictureEncoder {
  /// The 16 levels that Intra_16x16 codes first.
  @inline(__always) func lumaDCBlock(of decided: borrowing DecidedMacroblock) -> ResidualBlock {
    unsafe ResidualBlock(
      levels: UnsafePointer(work.lumaDCLevels.pointer(at: 16 &* decided.set)),
      mask: mask(Workspace.lumaDCMask, of: decided), size: 16)
  }

  /// Luma block `index` in raster order; `first` is 1 where DC is apart.
  @inline(__always) func lumaBlock(
    _ index: Int, of decided: borrowing DecidedMacroblock, first: Int
  ) -> ResidualBlock {
    unsafe ResidualBlock(
      levels: UnsafePointer(work.luma.pointer(at: 256 &* decided.set &+ 16 &* index &+ first)),
      mask: mask(index, of: decided) &>> UInt32(first), size: 16 &- first)
  }

  /// The four DC levels of Cb or Cr.
  @inline(__always) func chromaDCBlock(
    _ component: Int, of decided: borrowing DecidedMacroblock
  ) -> ResidualBlock {
    unsafe ResidualBlock(
      levels: UnsafePointer(work.chromaDCLevels.pointer(at: 8 &* decided.set &+ 4 &* component)),
      mask: mask(Workspace.chromaDCMasks &+ component, of: decided), size: 4)
  }

  /// AC levels of chroma block `index`: Cb from 0, Cr from 4.
  @inline(__always) func chromaBlock(
    _ index: Int, of decided: borrowing DecidedMacroblock
  ) -> ResidualBlock {
    unsafe ResidualBlock(
      levels: UnsafePointer(work.chroma.pointer(at: 128 &* decided.set &+ 16 &* index &+ 1)),
      mask: mask(Workspace.chromaMasks &+ index, of: decided) &>> 1, size: 15)
  }

  @inline(__always) private func mask(
    _ index: Int, of decided: borrowing DecidedMacroblock
  ) -> UInt32 {
    UInt32(work.masks[Workspace.masksPerSet &* decided.set &+ index])
  }
}
