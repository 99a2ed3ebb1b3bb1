import CPixelKernels
import PipeWire

/// A frame's rows as pixels of four bytes, whatever its format: as they lie, or unpacked into a band of
/// its own, made for the first frame that needs one.
final class FrameRows {
  private var band: [UInt32] = []

  /// What the band takes, for the memory plan.
  static func byteCount(width: Int) -> Int { FrameConverter.stripeByteCount(width: width) }

  /// Calls `body` with the first row's first pixel and the stride in bytes. Rows are at most as many as a
  /// stripe has.
  func withPixels(
    _ rows: Range<Int>, of frame: borrowing Frame, _ body: (UnsafePointer<UInt8>, Int) -> Void
  ) throws(SharedBufferError) {
    if frame.format.hasByteColours {
      let stride = frame.stride()
      return try unsafe frame.withRows(rows) { pixels in
        guard let start = pixels.baseAddress else { return }
        unsafe body(start.assumingMemoryBound(to: UInt8.self), stride)
      }
    }
    let width = frame.width
    if band.count < rows.count * width {
      band = [UInt32](
        repeating: 0, count: max(rows.count * width, Self.byteCount(width: width) / 4))
    }
    for plane in 0..<frame.format.planeCount { try unpack(plane, rows, of: frame) }
    unsafe band.withUnsafeBytes { band in
      guard let start = band.baseAddress else { return }
      unsafe body(
        start.assumingMemoryBound(to: UInt8.self), width * PixelFormat.Plane.pixels.byteCount)
    }
  }

  /// Brings a plane's samples into the band. Each is mapped alone, and only while it is read.
  private func unpack(
    _ plane: Int, _ rows: Range<Int>, of frame: borrowing Frame
  ) throws(SharedBufferError) {
    let width = frame.width
    let stride = frame.stride(ofPlane: plane)
    let unpacker = RowUnpacker(format: frame.format, plane: plane, isOdd: frame.beginsInSample)
    let lines = frame.lines(of: rows, inPlane: plane)
    try unsafe frame.withRows(rows, ofPlane: plane) { samples in
      unsafe band.withUnsafeMutableBufferPointer { band in
        guard let from = samples.baseAddress, let to = band.baseAddress else { return }
        for row in 0..<rows.count {
          unsafe unpacker.unpack(
            (from + lines[row] * stride).assumingMemoryBound(to: UInt8.self), width: width,
            into: to + row * width)
        }
      }
    }
  }
}

/// How one row of a plane's samples goes into pixels of four bytes; a picture's first plane comes first.
private struct RowUnpacker {
  let format: PixelFormat
  let plane: Int
  let isOdd: Bool

  @unsafe func unpack(
    _ samples: UnsafePointer<UInt8>, width: Int, into pixels: UnsafeMutablePointer<UInt32>
  ) {
    let odd: Int32 = isOdd ? 1 : 0
    switch (format, plane) {
    case (.nv12, 0), (.i420, 0), (.y42b, 0), (.y444, 0):
      unsafe porthole_pixels_from_luma(samples, width, pixels)
    case (.nv12, _): unsafe porthole_add_chroma_pairs(samples, odd, width, pixels)
    case (.i420, _), (.y42b, _):
      unsafe porthole_add_chroma(samples, odd, Int32(plane), width, pixels)
    case (.y444, _): unsafe porthole_add_whole_chroma(samples, Int32(plane), width, pixels)
    case (.gray8, _): unsafe porthole_pixels_from_grey(samples, width, pixels)
    case (.yuy2, _): unsafe porthole_pixels_from_yuy2(samples, odd, width, pixels)
    default:
      let (red, green, blue) = format.bits
      unsafe porthole_pixels_from_ten_bits(samples, red, green, blue, width, pixels)
    }
  }
}

extension PixelFormat {
  /// Whether red, green and blue are a byte each.
  var hasByteColours: Bool { byteOrder != nil }

  /// At which byte of a pixel red, green and blue are, once it has four bytes; nil where those are Y, Cb
  /// and Cr, or words of ten bits.
  var byteOrder: (red: Int, green: Int, blue: Int)? {
    switch self {
    case .bgrx, .bgra: (2, 1, 0)
    case .rgbx, .rgba: (0, 1, 2)
    case .xrgb, .argb: (1, 2, 3)
    case .xbgr, .abgr: (3, 2, 1)
    default: nil
    }
  }

  /// The lowest bit of red, green and blue in words of ten bits each.
  fileprivate var bits: (red: Int32, green: Int32, blue: Int32) {
    switch self {
    case .xbgr210, .abgr210: (0, 10, 20)
    case .rgbx102, .rgba102: (22, 12, 2)
    case .bgrx102, .bgra102: (2, 12, 22)
    default: (20, 10, 0)
    }
  }
}
