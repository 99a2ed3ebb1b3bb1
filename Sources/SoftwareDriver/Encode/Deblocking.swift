internal import CPixelKernels

/// The deblocking filter (clause 8.7): which edges, how strongly. The arithmetic is the kernels'.
extension PictureEncoder {
  /// Filters the edges of one row of macroblocks, in place.
  func deblockRow(_ job: borrowing PictureJob, row: Int) {
    guard let offsets = job.deblocking else { return }
    for column in 0..<columns {
      let index = row &* columns &+ column
      let here = macroblocks[index]
      if column > 0 {
        deblockOuter(job, offsets, column: column, row: row, isVertical: true)
      }
      if here.isIntra || here.coded != 0 {
        deblockInner(job, offsets, here, column: column, row: row, isVertical: true)
      }
      if row > 0 {
        deblockOuter(job, offsets, column: column, row: row, isVertical: false)
      }
      if here.isIntra || here.coded != 0 {
        deblockInner(job, offsets, here, column: column, row: row, isVertical: false)
      }
    }
  }

  /// The edge to the macroblock at the left or above.
  @inline(__always) private func deblockOuter(
    _ job: borrowing PictureJob, _ offsets: PictureJob.DeblockingOffsets, column: Int, row: Int,
    isVertical: Bool
  ) {
    let index = row &* columns &+ column
    let before = isVertical ? index &- 1 : index &- columns
    let strengths = outerStrengths(
      macroblocks[index], macroblocks[before], isVertical: isVertical)
    guard strengths != .none else { return }
    let changed = filter(
      job, offsets, strengths, qp: (Int(macroblocks[index].qp), Int(macroblocks[before].qp)),
      column: column, row: row, edge: 0, isVertical: isVertical)
    if changed {
      noteFiltered(index, beside: before, in: job)
      noteFiltered(before, beside: index, in: job)
    }
  }

  /// The three edges between 4x4 blocks inside a macroblock.
  private func deblockInner(
    _ job: borrowing PictureJob, _ offsets: PictureJob.DeblockingOffsets, _ here: Macroblock,
    column: Int, row: Int, isVertical: Bool
  ) {
    for edge in 1...3 {
      let strengths: EdgeStrengths =
        here.isIntra
        ? EdgeStrengths(all: 3)
        : EdgeStrengths(
          isVertical
            ? columnBits(here.coded, edge) | columnBits(here.coded, edge - 1)
            : rowBits(here.coded, edge) | rowBits(here.coded, edge - 1), otherwise: 0)
      guard strengths != .none else { continue }
      _ = filter(
        job, offsets, strengths, qp: (Int(here.qp), Int(here.qp)), column: column, row: row,
        edge: edge, isVertical: isVertical)
    }
  }

  /// A macroblock that repeats the reference no longer has its pixels, nor its quality; one that was coded may
  /// be further from its source by a neighbour that is coarser, or intra and so filtered more.
  private func noteFiltered(_ index: Int, beside other: Int, in job: borrowing PictureJob) {
    let here = macroblocks[index]
    let beside = macroblocks[other]
    guard here.kind == .skipped || here.coded == 0 else {
      if here.qp < beside.qp || beside.isIntra && !here.isIntra {
        job.memory.qualities[index] |= Reconstruction.residue
      }
      return
    }
    renewSerial(of: index, in: job)
    job.memory.qualities[index] = Reconstruction.unknownQuality
  }

  private func outerStrengths(
    _ here: Macroblock, _ before: Macroblock, isVertical: Bool
  ) -> EdgeStrengths {
    if here.isIntra || before.isIntra { return EdgeStrengths(all: 4) }
    // Vectors that differ by a whole sample differ by the four quarters that matter.
    let otherwise = here.motion == before.motion ? 0 : 1
    if here.coded | before.coded == 0 { return EdgeStrengths(all: otherwise) }
    return EdgeStrengths(
      isVertical
        ? columnBits(here.coded, 0) | columnBits(before.coded, 3)
        : rowBits(here.coded, 0) | rowBits(before.coded, 3), otherwise: otherwise)
  }

  /// The bits of one column of blocks, top block first.
  @inline(__always) private func columnBits(_ coded: UInt16, _ column: Int) -> UInt16 {
    let bits = coded &>> UInt16(column)
    return bits & 1 | bits &>> 3 & 2 | bits &>> 6 & 4 | bits &>> 9 & 8
  }

  @inline(__always) private func rowBits(_ coded: UInt16, _ row: Int) -> UInt16 {
    coded &>> UInt16(4 &* row) & 15
  }

  /// Filters one luma edge, and the chroma edge that lies on it. Answers whether a sample may have
  /// changed.
  private func filter(
    _ job: borrowing PictureJob, _ offsets: PictureJob.DeblockingOffsets,
    _ strengths: EdgeStrengths, qp: (Int, Int), column: Int, row: Int, edge: Int, isVertical: Bool
  ) -> Bool {
    let direction: Int32 = isVertical ? 1 : 0
    var changed: Int32 = 0
    let x = column &* 16 &+ (isVertical ? 4 &* edge : 0)
    let y = row &* 16 &+ (isVertical ? 0 : 4 &* edge)
    if var limits = work.thresholds.edge(
      strengths, qp: (qp.0 &+ qp.1 &+ 1) &>> 1, offsets)
    {
      changed |= unsafe porthole_deblock_luma(
        job.target.luma(x: x, y: y), job.target.stride, direction, &limits)
    }
    guard edge & 1 == 0 else { return changed != 0 }
    let chroma = (
      chromaQP(luma: qp.0, offset: job.chromaQPOffset),
      chromaQP(luma: qp.1, offset: job.chromaQPOffset)
    )
    if var limits = work.thresholds.edge(
      strengths, qp: (chroma.0 &+ chroma.1 &+ 1) &>> 1, offsets)
    {
      changed |= unsafe porthole_deblock_chroma(
        job.target.chroma(x: x / 2, y: y / 2), job.target.stride, direction, &limits)
    }
    return changed != 0
  }
}

/// bS of the four quarters of an edge, four bits each, first quarter lowest.
struct EdgeStrengths: Equatable {
  let bits: UInt16

  static let none = EdgeStrengths(all: 0)

  @inline(__always) init(all strength: Int) {
    bits = UInt16(truncatingIfNeeded: strength) &* 0x1111
  }

  /// 2 in the quarters whose bit stands in `coded`.
  @inline(__always) init(_ coded: UInt16, otherwise: Int) {
    let spread = coded & 1 | (coded & 2) &<< 3 | (coded & 4) &<< 6 | (coded & 8) &<< 9
    bits = spread &* 2 | (0x1111 ^ spread) &* UInt16(truncatingIfNeeded: otherwise)
  }

  @inline(__always) subscript(quarter: Int) -> Int {
    Int(bits &>> UInt16(4 &* quarter) & 15)
  }
}
