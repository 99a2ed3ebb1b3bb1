internal import Glibc

/// The rows of one surface that are mapped while a coder goes down the picture.
@safe final class PictureWindow {
  private let rowCount: Int
  private var surface: Surface?
  private var luma = Pane()
  private var chroma = Pane()
  private var rows = 0..<0

  /// One plane's part of it.
  @safe private struct Pane {
    var base: UnsafeMutableRawPointer?
    var byteCount = 0
    /// Where the mapped part begins in the file.
    var offset = 0
  }

  /// `rowCount` luma rows are mapped at a time, or all where the surface has fewer.
  init(rowCount: Int) { self.rowCount = rowCount }

  deinit { close() }

  /// Maps the first rows, and holds the surface until `close`.
  func open(_ surface: Surface) throws(DriverError) {
    self.surface = surface
    let layout = surface.layout
    let count = min(rowCount, layout.rows)
    // One page more, for a row seldom begins where a page does.
    luma.byteCount = wholePages(count * layout.stride) + pageByteCount
    chroma.byteCount = wholePages(count / 2 * layout.stride) + pageByteCount
    surface.pixels.file.beginAccess()
    do throws(DriverError) {
      try move(to: 0)
    } catch {
      close()
      throw error
    }
  }

  /// Unmaps them; views that were given out are void.
  func close() {
    if let base = unsafe luma.base { unsafe munmap(base, luma.byteCount) }
    if let base = unsafe chroma.base { unsafe munmap(base, chroma.byteCount) }
    unsafe luma.base = nil
    unsafe chroma.base = nil
    surface?.pixels.file.endAccess()
    surface = nil
  }

  /// The picture, of which only `wanted` rows may be touched.
  func view(of wanted: Range<Int>) -> PictureView {
    if wanted.lowerBound < rows.lowerBound || wanted.upperBound > rows.upperBound {
      do throws(DriverError) {
        try move(to: wanted.lowerBound)
      } catch {
        preconditionFailure("what is mapped over a mapping needs no memory")
      }
    }
    guard let layout = surface?.layout, let luma = unsafe luma.base else {
      preconditionFailure("a window is looked through while it is open")
    }
    // Where the planes would begin if all of them were mapped.
    let lumaStart = unsafe luma - self.luma.offset + layout.offset
    let chromaStart = unsafe (chroma.base ?? luma) - chroma.offset + layout.chromaOffset
    return unsafe PictureView(
      luma: lumaStart.assumingMemoryBound(to: UInt8.self),
      chroma: chromaStart.assumingMemoryBound(to: UInt8.self), stride: layout.stride)
  }

  private func move(to first: Int) throws(DriverError) {
    guard let surface else { return }
    let layout = surface.layout
    let first = max(0, min(first & ~1, layout.rows - rowCount))
    try Self.move(&luma, of: surface, to: layout.offset + first * layout.stride)
    if layout.format == .nv12 {
      try Self.move(&chroma, of: surface, to: layout.chromaOffset + first / 2 * layout.stride)
    }
    rows = first..<min(first + rowCount, layout.rows)
  }

  private static func move(
    _ pane: inout Pane, of surface: Surface, to byte: Int
  ) throws(DriverError) {
    pane.offset = byte & ~(pageByteCount - 1)
    unsafe pane.base = try surface.pixels.file.map(
      offset: pane.offset, byteCount: pane.byteCount, at: pane.base)
  }
}

/// The windows through which a picture too large to be mapped is coded.
final class PictureWindows {
  // Eight rows of macroblocks beyond what one row needs, so that moving costs little.
  private static let slack = 128
  let source = PictureWindow(rowCount: 16 + slack)
  let target = PictureWindow(rowCount: 3 * 16 + slack)
  let reference = PictureWindow(rowCount: 16 + 2 * Motion.verticalRange + slack)

  /// Opens all or none.
  func open(source: Surface, target: Surface, reference: Surface?) throws(DriverError) {
    do throws(DriverError) {
      try self.source.open(source)
      try self.target.open(target)
      if let reference { try self.reference.open(reference) }
    } catch {
      close()
      throw error
    }
  }

  func close() {
    source.close()
    target.close()
    reference.close()
  }
}

extension PictureJob {
  /// The job with what the coding of macroblock row `row` may touch within reach: the source's row,
  /// the target's with the two above it for deblocking, and the reference's as far as motion goes.
  borrowing func around(row: Int) -> PictureJob {
    guard let windows else { return copy self }
    var job = copy self
    let top = row * 16
    job.source = windows.source.view(of: top..<top + 16)
    job.target = windows.target.view(of: max(0, top - 32)..<top + 16)
    if let reference {
      let reach = Motion.verticalRange
      let bottom = min(top + 16 + reach, height)
      job.reference = Reference(
        view: windows.reference.view(of: max(0, top - reach)..<bottom), memory: reference.memory)
    }
    return job
  }
}
