/// What a macroblock is decided to be: all that an entropy coder has to say of it, whichever that is.
///
/// It is reconstructed already. Its levels, and the modes of Intra_4x4, stand in the workspace, in
/// the set that it names.
struct DecidedMacroblock {
  enum Prediction: Equatable {
    /// A mode of table 8-4.
    case intra16x16(mode: Int)
    /// Sixteen modes of table 8-2.
    case intra4x4
    /// P_L0_16x16, or P_Skip where the motion is what that implies and no levels are left.
    case inter(Motion)
  }

  let prediction: Prediction
  /// intra_chroma_pred_mode.
  let chromaMode: Int
  /// Luma blocks in raster order that have levels other than 0; AC levels alone in Intra_16x16.
  let lumaBlocks: UInt32
  let chroma: ChromaResidual
  let qp: Int
  /// Of the workspace's two sets of levels.
  let set: Int

  /// coded_block_pattern's part: a bit for each 8x8 that has levels, or all in Intra_16x16.
  var lumaPattern: Int {
    if case .intra16x16 = prediction { return lumaBlocks == 0 ? 0 : 15 }
    var pattern = lumaBlocks & 0x0033 != 0 ? 1 : 0
    if lumaBlocks & 0x00cc != 0 { pattern |= 2 }
    if lumaBlocks & 0x3300 != 0 { pattern |= 4 }
    if lumaBlocks & 0xcc00 != 0 { pattern |= 8 }
    return pattern
  }

  var isIntra: Bool { if case .inter = prediction { false } else { true } }

  /// Whether the luma DC levels are apart.
  var hasLumaDC: Bool { if case .intra16x16 = prediction { true } else { false } }

  var pattern: Int { lumaPattern | chroma.pattern &<< 4 }

  func isSkipped(_ skipMotion: Motion) -> Bool {
    guard case .inter(let motion) = prediction else { return false }
    return motion == skipMotion && lumaBlocks == 0 && chroma.pattern == 0
  }
}

/// What the transform left of a macroblock's chroma.
struct ChromaResidual {
  /// coded_block_pattern's part: 0 nothing, 1 DC, 2 AC too.
  let pattern: Int
  /// Blocks with AC levels, Cb from bit 0 and Cr from bit 4.
  let blocks: UInt32

  static let none = ChromaResidual(pattern: 0, blocks: 0)
}
