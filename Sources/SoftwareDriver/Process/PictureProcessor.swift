internal import CPixelKernels
internal import Pixels

/// Takes a picture down in bands: rows of the source, scaled, turned a tile at a time, written. Holds
/// one band and the tables of one job.
final class PictureProcessor {
  let job: ProcessJob
  private let writer: PixelWriter
  private let window: PictureWindow
  private let targetWindow: PictureWindow
  /// Rows of the turned picture's lines that are made at a time, an even number.
  private let bandRows: Int
  private let columns: ResampleTaps
  private let rows: ResampleTaps
  /// A band of NV12 as pixels, a row of sums, a band of scaled pixels, a tile of turned ones.
  private let expanded: Table<UInt32>
  private let sums: Table<UInt16>
  private let scaledBand: Table<UInt32>
  private let tile: Table<UInt32>

  // Of pixels, read at a time: 64 rows at 1080p.
  private static let bandLimit = 480 << 10
  private static let mostScaledRows = 32
  // An even number; a tile with the rows it is read from stays in the processor's first cache.
  private static let tileSide = 64

  init(job: ProcessJob) throws(DriverError) {
    self.job = job
    writer = PixelWriter(job: job)
    let (width, height) = job.scaled
    columns = ResampleTaps(from: job.source.width, to: width)
    rows = ResampleTaps(from: job.source.height, to: height)
    // Two scaled rows are made of so many at most.
    let least = rows.count + 2 * (job.source.height / height + 1)
    let sourceRows = max(Self.bandLimit / (4 * job.source.width) & ~1, least)
    let fitting = (sourceRows - rows.count) * height / job.source.height
    bandRows = job.isScaled ? max(2, min(fitting, Self.mostScaledRows) & ~1) : sourceRows & ~1
    window = PictureWindow(rowCount: sourceRows + 2)
    targetWindow = PictureWindow(rowCount: bandRows + 2)
    let isTurned = job.orientation != .upright
    expanded = try Table(count: job.sourceFormat == .nv12 ? sourceRows * job.source.width : 1)
    sums = try Table(count: job.isScaled ? 4 * job.source.width : 1)
    scaledBand = try Table(count: job.isScaled ? bandRows * width : 1)
    tile = try Table(count: isTurned ? Self.tileSide * Self.tileSide : 1)
  }

  /// Both surfaces are of the formats and sizes of the job.
  func run(from source: Surface, to target: Surface) throws(DriverError) {
    try window.open(source)
    defer { window.close() }
    // What is turned by a quarter is written all over the target, a column at a time.
    let isWhole = target.pixels.isKept || job.orientation.isTransposed
    if isWhole {
      let view = try target.hold()
      defer { target.pixels.release() }
      run { _ in view }
    } else {
      try targetWindow.open(target)
      defer { targetWindow.close() }
      run { self.targetWindow.view(of: $0) }
    }
  }

  /// `target` gives the target with some of its rows within reach.
  private func run(to target: (Range<Int>) -> PictureView) {
    if job.hasBackground { fill(target) }
    let lines = job.orientation.isTransposed ? job.target.width : job.target.height
    for first in stride(from: 0, to: lines, by: bandRows) {
      let along = first..<min(first + bandRows, lines)
      let scaledRows =
        job.orientation.reversesRows ? lines - along.upperBound..<lines - along.lowerBound : along
      let band = unsafe makeBand(scaledRows)
      let reach =
        job.orientation.isTransposed
        ? 0..<job.height : job.target.y + along.lowerBound..<job.target.y + along.upperBound
      unsafe write(band, along: along, to: target(reach))
    }
  }

  private func fill(_ target: (Range<Int>) -> PictureView) {
    for first in stride(from: 0, to: job.height, by: bandRows) {
      let rows = first..<min(first + bandRows, job.height)
      writer.fill(rows: rows, width: job.width, format: job.targetFormat, of: target(rows))
    }
  }

  /// Rows of scaled pixels, not turned yet.
  @unsafe private struct Band {
    let pixels: UnsafePointer<UInt8>
    let stride: Int
    let rowCount: Int
  }

  private func makeBand(_ scaledRows: Range<Int>) -> Band {
    let needed = job.isScaled ? rows.sources(of: scaledRows) : scaledRows
    let source = unsafe read(needed)
    guard job.isScaled else { return unsafe source }
    let width = job.scaled.width
    for row in scaledRows {
      let first = Int(rows.first[row]) - needed.lowerBound
      unsafe rows.weights.withUnsafeBufferPointer { weights in
        unsafe porthole_sum_rows(
          source.pixels + first * source.stride, source.stride,
          weights.baseAddress! + row * rows.count, rows.count, 4 * job.source.width,
          sums.pointer())
      }
      unsafe porthole_sum_columns(
        sums.pointer(), columns.first, columns.weights, columns.count, width,
        scaledBand.pointer(at: (row - scaledRows.lowerBound) * width))
    }
    return unsafe Band(
      pixels: UnsafeRawPointer(scaledBand.pointer()).assumingMemoryBound(to: UInt8.self),
      stride: 4 * width, rowCount: scaledRows.count)
  }

  /// Rows of the source's region as pixels of four bytes.
  private func read(_ wanted: Range<Int>) -> Band {
    let region = job.source
    let top = region.y + wanted.lowerBound
    let view = window.view(of: top & ~1..<region.y + wanted.upperBound)
    guard job.sourceFormat == .nv12 else {
      return unsafe Band(
        pixels: view.luma(x: 4 * region.x, y: top), stride: view.stride, rowCount: wanted.count)
    }
    for row in 0..<wanted.count {
      let start = unsafe expanded.pointer(at: row * region.width)
      unsafe porthole_yuv_from_nv12(
        view.luma(x: 0, y: top + row), view.chroma(x: 0, y: (top + row) / 2), region.x,
        region.width, UnsafeMutableRawPointer(start).assumingMemoryBound(to: UInt8.self))
    }
    return unsafe Band(
      pixels: UnsafeRawPointer(expanded.pointer()).assumingMemoryBound(to: UInt8.self),
      stride: 4 * region.width, rowCount: wanted.count)
  }

  /// Writes a band as the lines `along` of the target region.
  private func write(_ band: Band, along: Range<Int>, to target: PictureView) {
    let orientation = job.orientation
    guard orientation != .upright else {
      return unsafe writer.write(
        band.pixels, stride: band.stride, width: job.target.width, rows: along.count, to: target,
        x: job.target.x, y: job.target.y + along.lowerBound)
    }
    let breadth = job.scaled.width
    let side = Self.tileSide
    let rowStep = unsafe orientation.reversesRows ? -band.stride : band.stride
    let columnStep = orientation.reversesColumns ? -4 : 4
    for first in stride(from: 0, to: along.count, by: side) {
      let depth = min(side, along.count - first)
      for left in stride(from: 0, to: breadth, by: side) {
        let width = min(side, breadth - left)
        let row = unsafe orientation.reversesRows ? band.rowCount - 1 - first : first
        let column = orientation.reversesColumns ? breadth - 1 - left : left
        let start = unsafe band.pixels + row * band.stride + 4 * column
        let isTransposed = orientation.isTransposed
        let size = isTransposed ? (depth, width) : (width, depth)
        unsafe porthole_turn_pixels(
          start, isTransposed ? rowStep : columnStep, isTransposed ? columnStep : rowStep, size.0,
          size.1, tile.pointer())
        let line = along.lowerBound + first
        unsafe writer.write(
          UnsafeRawPointer(tile.pointer()).assumingMemoryBound(to: UInt8.self),
          stride: 4 * size.0, width: size.0, rows: size.1, to: target,
          x: job.target.x + (isTransposed ? line : left),
          y: job.target.y + (isTransposed ? left : line))
      }
    }
  }
}
