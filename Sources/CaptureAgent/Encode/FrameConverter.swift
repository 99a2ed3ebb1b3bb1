import CPixelKernels
import PipeWire
import VAAPI

/// Writes a frame into an encoder's input as NV12: BT.709 of limited range, as the stream says.
struct FrameConverter {
  let configuration: EncoderConfiguration

  /// Rows mapped at a time, an even number: half a megabyte at 1080p, for mappings count against
  /// the limit.
  static let stripeRows = 64

  /// Converts what `damage` covers, or everything, and fills up to the coded size by repeating the
  /// last column and row. The rest of `image` stays as it is.
  func convert(
    _ frame: borrowing Frame, damage: Rectangle?, into image: borrowing MappedImage
  ) throws(SharedBufferError) {
    let region = evened(damage)
    guard region.width > 0, region.height > 0 else { return }
    let weights = Self.weights(of: frame.format)
    for first in stride(
      from: region.y, to: region.y + region.height, by: Self.stripeRows)
    {
      let rows = first..<min(first + Self.stripeRows, region.y + region.height)
      let luma = unsafe image.luma + (first * image.lumaStride + region.x)
      let chroma = unsafe image.chroma + (first / 2 * image.chromaStride + region.x)
      let lumaStride = image.lumaStride
      let chromaStride = image.chromaStride
      let stride = frame.stride
      try unsafe frame.withRows(rows) { pixels in
        guard let start = pixels.baseAddress else { return }
        let first = unsafe start.assumingMemoryBound(to: UInt8.self)
        unsafe withUnsafePointer(to: weights) { weights in
          unsafe porthole_nv12_from_pixels(
            weights, first + region.x * PixelFormat.byteCount, stride, region.width,
            rows.count, codedWidth(of: region), luma, lumaStride, chroma, chromaStride)
        }
      }
    }
    if region.y + region.height == configuration.height { repeatLastRow(of: region, in: image) }
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
