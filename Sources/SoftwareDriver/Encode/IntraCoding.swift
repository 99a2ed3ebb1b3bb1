internal import CPixelKernels

extension PictureEncoder {
  /// The best Intra_16x16 prediction found; `mode` names it in table 8-4.
  struct IntraChoice {
    var mode: Int
    var cost: Int
  }

  /// Predicts luma by each mode that its neighbours allow and keeps the one nearest to the source; of
  /// equals the first, which has the shortest code.
  func chooseIntra(_ job: borrowing PictureJob, column: Int, row: Int) -> IntraChoice {
    let target = unsafe job.target.luma(x: column * 16, y: row * 16)
    let source = unsafe job.source.luma(x: column * 16, y: row * 16)
    let available = intraNeighbours(job, column: column, row: row)
    var best = IntraChoice(mode: 2, cost: .max)
    for mode in 0..<4 where isAllowed(lumaMode: mode, available) {
      let prediction = unsafe work.lumaPrediction.pointer(at: 256 * mode)
      unsafe porthole_intra_luma(target, job.target.stride, Int32(mode), available, prediction)
      let cost = unsafe Int(porthole_sad_16x16(source, job.source.stride, prediction, 16))
      if cost < best.cost { best = IntraChoice(mode: mode, cost: cost) }
    }
    return best
  }

  /// Codes and reconstructs an Intra_16x16 macroblock with a prediction of `chooseIntra`.
  func decideIntra16x16(
    _ job: borrowing PictureJob, mode: Int, chromaMode: Int, column: Int, row: Int, qp: Int,
    set: Int
  ) -> DecidedMacroblock {
    let quantizer = unsafe work.quantizers.pointer(at: 2 * qp)
    let prediction = unsafe work.lumaPrediction.pointer(at: 256 * mode)
    let levels = unsafe work.luma.pointer(at: 256 * set)
    let blocks = unsafe porthole_forward_luma(
      job.source.luma(x: column * 16, y: row * 16), job.source.stride, prediction, 16, quantizer,
      levels, work.masks.pointer(at: Workspace.masksPerSet * set), work.lumaDC.pointer())
    let dcMask = unsafe porthole_luma_dc(
      work.lumaDC.pointer(), quantizer, work.lumaDCLevels.pointer(at: 16 * set))
    work.masks[Workspace.masksPerSet * set + Workspace.lumaDCMask] = UInt16(dcMask)
    unsafe porthole_inverse_luma(
      job.target.luma(x: column * 16, y: row * 16), job.target.stride, prediction, 16, quantizer,
      levels, work.lumaDC.pointer(), dcMask != 0 ? 0xffff : blocks)
    let chroma = unsafe codeIntraChroma(
      job, mode: chromaMode, qp: qp, set: set, column: column, row: row)
    return DecidedMacroblock(
      prediction: .intra16x16(mode: mode), chromaMode: chromaMode, lumaBlocks: blocks,
      chroma: chroma, qp: qp, set: set)
  }

  /// Codes and reconstructs chroma with a prediction of `chooseIntraChroma`.
  @unsafe func codeIntraChroma(
    _ job: borrowing PictureJob, mode: Int, qp: Int, set: Int, column: Int, row: Int
  ) -> ChromaResidual {
    unsafe codeChroma(
      job,
      ChromaPrediction(samples: work.chromaPrediction.pointer(at: 128 * mode), stride: 16),
      qp: qp, isMoving: false, set: set, column: column, row: row)
  }

  /// The intra_chroma_pred_mode nearest to the source, planes apart.
  func chooseIntraChroma(_ job: borrowing PictureJob, column: Int, row: Int) -> Int {
    let target = unsafe job.target.chroma(x: column * 8, y: row * 8)
    let source = unsafe job.source.chroma(x: column * 8, y: row * 8)
    let available = intraNeighbours(job, column: column, row: row)
    var best = 0
    var bestCost = Int.max
    for mode in 0..<3 where isAllowed(chromaMode: mode, available) {
      let prediction = unsafe work.chromaPrediction.pointer(at: 128 * mode)
      unsafe porthole_intra_chroma(target, job.target.stride, Int32(mode), available, prediction)
      let cost = unsafe Int(porthole_sad_16x8(source, job.source.stride, prediction, 16))
      if cost < bestCost {
        bestCost = cost
        best = mode
      }
    }
    return best
  }

  /// Where a macroblock may predict from (`PORTHOLE_LEFT` and its like).
  func intraNeighbours(_ job: borrowing PictureJob, column: Int, row: Int) -> Int32 {
    func isUsable(_ column: Int, _ row: Int) -> Bool {
      guard column >= 0, column < columns, row >= 0 else { return false }
      return !job.usesConstrainedIntra || macroblocks[row * columns + column].isIntra
    }
    var available: Int32 = 0
    if isUsable(column - 1, row) { available |= Int32(PORTHOLE_LEFT) }
    if isUsable(column, row - 1) { available |= Int32(PORTHOLE_ABOVE) }
    if isUsable(column - 1, row - 1) { available |= Int32(PORTHOLE_CORNER) }
    if isUsable(column + 1, row - 1) { available |= Int32(PORTHOLE_ABOVE_RIGHT) }
    return available
  }

  private func isAllowed(lumaMode: Int, _ available: Int32) -> Bool {
    let needed: Int32
    switch lumaMode {
    case 0: needed = Int32(PORTHOLE_ABOVE)
    case 1: needed = Int32(PORTHOLE_LEFT)
    case 2: needed = 0
    default: needed = Int32(PORTHOLE_ABOVE | PORTHOLE_LEFT | PORTHOLE_CORNER)
    }
    return available & needed == needed
  }

  private func isAllowed(chromaMode: Int, _ available: Int32) -> Bool {
    let needed = chromaMode == 0 ? 0 : Int32(chromaMode == 1 ? PORTHOLE_LEFT : PORTHOLE_ABOVE)
    return available & needed == needed
  }
}
