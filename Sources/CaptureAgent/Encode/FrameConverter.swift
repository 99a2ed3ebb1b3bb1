import CPixelKernels
import PipeWire
import VAAPI

/// Writes a frame into an encoder's input as NV12: BT.709 of limited range, as the stream says.
struct FrameConverter {
  let configuration: EncoderConfiguration

  // Mapped at a time: 64 rows at 1080p, for mappings count against the limit.
  private static let stripeLimit = 480 << 10

  /// What is mapped of a frame at a time: an even number of rows.
  static func stripeByteCount(width: Int) -> Int { stripeRows(width: width) * width * 4 }

  private static func stripeRows(width: Int) -> Int {
    max(2, stripeLimit / (width * PixelFormat.byteCount) & ~1)
  }

  /// Converts what `damage` covers, or everything, and fills up to the coded size by repeating the
  /// last column and row. The rest of `image` stays as it is. Answers how many bytes were written.
  func convert(
    _ frame: borrowing Frame, damage: Rectangle?, through halver: FrameHalver?,
    into image: borrowing MappedImage
  ) throws(SharedBufferError) -> Int {
    let region = evened(halver == nil ? damage : nil)
    guard region.width > 0, region.height > 0 else { return 0 }
    let stripe = Self.stripeRows(width: frame.width)
    if let halver {
      try unsafe halver.forEachPair(
        of: frame, stripeRows: stripe, height: configuration.height
      ) { pixels, row, count in
        unsafe write(
          pixels, stride: configuration.width * PixelFormat.byteCount, of: frame.format,
          rows: row..<row + count, of: region, into: image)
      }
    } else {
      for first in stride(from: region.y, to: region.y + region.height, by: stripe) {
        let rows = first..<min(first + stripe, region.y + region.height)
        let (format, stride) = (frame.format, frame.stride)
        try unsafe frame.withRows(rows) { pixels in
          guard let start = pixels.baseAddress else { return }
          let first = unsafe start.assumingMemoryBound(to: UInt8.self)
          unsafe write(
            first + region.x * PixelFormat.byteCount, stride: stride, of: format, rows: rows,
            of: region, into: image)
        }
      }
    }
    if region.y + region.height == configuration.height { repeatLastRow(of: region, in: image) }
    return region.width * region.height * 3 / 2
  }

  private func write(
    _ pixels: UnsafePointer<UInt8>, stride: Int, of format: PixelFormat, rows: Range<Int>,
    of region: Rectangle, into image: borrowing MappedImage
  ) {
    let first = rows.lowerBound
    let luma = unsafe image.luma + (first * image.lumaStride + region.x)
    let chroma = unsafe image.chroma + (first / 2 * image.chromaStride + region.x)
    unsafe withUnsafePointer(to: Self.weights(of: format)) { weights in
      unsafe porthole_nv12_from_pixels(
        weights, pixels, stride, region.width, rows.count, codedWidth(of: region), luma,
        image.lumaStride, chroma, image.chromaStride)
    }
  }

  /// The frame's part of `damage`, grown to whole chroma samples; all of it without damage.
  private func evened(_ damage: Rectangle?) -> Rectangle {
    let width = configuration.width
    let height = configuration.height
    guard let damage else { return Rectangle(x: 0, y: 0, width: width, height: height) }
    let left = min(max(damage.x, 0), width) / 2 * 2
    let top = min(max(damage.y, 0), height) / 2 * 2
    let right = min((min(max(damage.x + damage.width, left), width) + 1) / 2 * 2, width)
    let bottom = min((min(max(damage.y + damage.height, top), height) + 1) / 2 * 2, height)
    return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// How wide `region` is once it reaches the right edge of the coded picture, if it does.
  private func codedWidth(of region: Rectangle) -> Int {
    let reachesEdge = region.x + region.width == configuration.width
    return reachesEdge ? configuration.codedWidth - region.x : region.width
  }

  private func repeatLastRow(of region: Rectangle, in image: borrowing MappedImage) {
    let width = codedWidth(of: region)
    let last = configuration.height - 1
    for row in configuration.height..<configuration.codedHeight {
      unsafe (image.luma + (row * image.lumaStride + region.x)).update(
        from: image.luma + (last * image.lumaStride + region.x), count: width)
    }
    let lastPair = last / 2
    for row in (lastPair + 1)..<(configuration.codedHeight / 2) {
      unsafe (image.chroma + (row * image.chromaStride + region.x)).update(
        from: image.chroma + (lastPair * image.chromaStride + region.x), count: width)
    }
  }

  // Made once: a frame allocates nothing.
  private static let blueFirst = PixelWeights.bt709.bytes(red: 2, green: 1, blue: 0)
  private static let redFirst = PixelWeights.bt709.bytes(red: 0, green: 1, blue: 2)

  private static func weights(of format: PixelFormat) -> porthole_nv12_weights {
    switch format {
    case .bgrx, .bgra: blueFirst
    case .rgbx, .rgba: redFirst
    }
  }
}
