import CPixelKernels
import PipeWire
import Pixels

/// Scales a frame a band of rows at a time; it holds one band and one row of sums.
final class FrameScaler {
  /// Rows of the scaled picture that are made at a time, an even number.
  let bandRows: Int
  private let pixels: FrameRows
  private let width: Int
  private let columns: ResampleTaps
  private let rows: ResampleTaps
  private var sums: [UInt16]
  private var band: [UInt32]

  /// The most rows that a band has.
  private static let mostRows = 32

  /// `stripeRows` of the frame may be mapped at a time, at least; they are read by `pixels`.
  init(geometry: PictureGeometry, stripeRows: Int, pixels: FrameRows) {
    self.pixels = pixels
    let (width, height) = geometry.scaled
    self.width = width
    columns = ResampleTaps(from: geometry.frame.width, to: width)
    rows = ResampleTaps(from: geometry.frame.height, to: height)
    let fitting = (stripeRows - rows.count) * height / geometry.frame.height
    bandRows = max(2, min(fitting, Self.mostRows) & ~1)
    sums = [UInt16](repeating: 0, count: geometry.frame.width * PixelFormat.Plane.pixels.byteCount)
    band = [UInt32](repeating: 0, count: width * bandRows)
  }

  /// What it holds of pixels, for the memory plan.
  static func byteCount(geometry: PictureGeometry) -> Int {
    guard geometry.isScaled else { return 0 }
    return geometry.scaled.width * mostRows * 4 + geometry.frame.width * 8
  }

  /// Calls `body` with the pixels of the scaled rows `range`, at most a band of them, and their stride in
  /// bytes. The whole width is made.
  func withBand(
    _ range: Range<Int>, of frame: borrowing Frame, _ body: (UnsafePointer<UInt8>, Int) -> Void
  ) throws(SharedBufferError) {
    let sources = rows.sources(of: range)
    try unsafe pixels.withPixels(sources, of: frame) { start, stride in
      for row in range {
        let first = Int(rows.first[row]) - sources.lowerBound
        unsafe scale(
          row, from: start + first * stride, stride: stride,
          into: (row - range.lowerBound) * width)
      }
    }
    unsafe band.withUnsafeBytes { band in
      guard let start = band.baseAddress else { return }
      unsafe body(
        start.assumingMemoryBound(to: UInt8.self), width * PixelFormat.Plane.pixels.byteCount)
    }
  }

  private func scale(
    _ row: Int, from pixels: UnsafePointer<UInt8>, stride: Int, into start: Int
  ) {
    unsafe rows.weights.withUnsafeBufferPointer { weights in
      unsafe porthole_sum_rows(
        pixels, stride, weights.baseAddress! + row * rows.count, rows.count, sums.count, &sums)
    }
    unsafe band.withUnsafeMutableBufferPointer { band in
      unsafe porthole_sum_columns(
        sums, columns.first, columns.weights, columns.count, width, band.baseAddress! + start)
    }
  }
}
