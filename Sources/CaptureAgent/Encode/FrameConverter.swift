import CPixelKernels
import PipeWire
import Pixels
import VAAPI

/// Writes frames into an encoder's input as NV12 of limited range: turned, scaled and coloured as the
/// stream says. A frame is read in stripes, for mappings count against the limit.
final class FrameConverter {
  let geometry: PictureGeometry
  private let codedWidth: Int
  private let codedHeight: Int
  private var weights: FrameWeights
  private let rows = FrameRows()
  private let scaler: FrameScaler?
  /// Turned pixels on their way; empty where none are turned.
  private var tile: [UInt32]

  // Mapped at a time: 64 rows up to 1080p, fewer above.
  private static let stripeLimit = 480 << 10
  private static let mostStripeRows = 64
  // An even number; a tile with the rows it is read from stays in the processor's first cache.
  private static let tileSide = 64

  init(configuration: EncoderConfiguration) {
    geometry = configuration.geometry
    codedWidth = configuration.codedWidth
    codedHeight = configuration.codedHeight
    weights = FrameWeights(to: configuration.colour)
    scaler =
      geometry.isScaled
      ? FrameScaler(
        geometry: geometry, stripeRows: Self.stripeRows(width: geometry.frame.width), pixels: rows)
      : nil
    let isTurned = geometry.orientation != .upright
    tile = [UInt32](repeating: 0, count: isTurned ? Self.tileSide * Self.tileSide : 0)
  }

  /// What is mapped of a frame at a time: an even number of rows.
  static func stripeByteCount(width: Int) -> Int { stripeRows(width: width) * width * 4 }

  private static func stripeRows(width: Int) -> Int {
    let fitting = stripeLimit / (width * PixelFormat.Plane.pixels.byteCount)
    return max(2, min(fitting, mostStripeRows) & ~1)
  }

  /// Converts what `damage` covers, or everything, and fills up to the coded size by repeating the
  /// last column and row. The rest of `image` stays as it is. Answers how many bytes were written.
  func convert(
    _ frame: borrowing Frame, damage: Rectangle?, into image: borrowing MappedImage
  ) throws(SharedBufferError) -> Int {
    let region = damage.map(geometry.place) ?? geometry.content
    guard region.width > 0, region.height > 0 else { return 0 }
    weights.take(frame.format, frame.colour)
    if damage == nil, geometry.hasBars { blacken(image) }
    let lines = Lines(region: region, geometry: geometry)
    let step = scaler?.bandRows ?? Self.stripeRows(width: frame.width)
    for first in stride(from: lines.along.lowerBound, to: lines.along.upperBound, by: step) {
      let along = first..<min(first + step, lines.along.upperBound)
      let rows = lines.rows(at: along)
      try unsafe withRows(rows, of: frame) { pixels, stride in
        let band = unsafe Band(pixels: pixels, stride: stride, rows: rows)
        unsafe write(band, along: along, lines, into: image)
      }
    }
    if region.y + region.height == geometry.height { repeatLastRow(of: region, in: image) }
    return region.width * region.height * 3 / 2
  }

  /// Pixels of the frame, scaled already.
  @unsafe private struct Band {
    let pixels: UnsafePointer<UInt8>
    let stride: Int
    let rows: Range<Int>
  }

  private func withRows(
    _ rows: Range<Int>, of frame: borrowing Frame, _ body: (UnsafePointer<UInt8>, Int) -> Void
  ) throws(SharedBufferError) {
    if let scaler { return try unsafe scaler.withBand(rows, of: frame, body) }
    try unsafe self.rows.withPixels(rows, of: frame, body)
  }

  private func write(
    _ band: Band, along: Range<Int>, _ lines: Lines, into image: borrowing MappedImage
  ) {
    guard geometry.orientation != .upright else {
      let start = unsafe band.pixels + lines.across.lowerBound * PixelFormat.Plane.pixels.byteCount
      return unsafe convert(
        start, stride: band.stride, to: lines.place(along: along, across: lines.across), into: image
      )
    }
    let side = Self.tileSide
    for first in stride(from: along.lowerBound, to: along.upperBound, by: side) {
      let part = first..<min(first + side, along.upperBound)
      for left in stride(from: lines.across.lowerBound, to: lines.across.upperBound, by: side) {
        let across = left..<min(left + side, lines.across.upperBound)
        let place = lines.place(along: part, across: across)
        let from = unsafe lines.steps(
          along: first, across: left, band.rows, stride: band.stride)
        unsafe porthole_turn_pixels(
          band.pixels + from.offset, from.right, from.down, place.width, place.height, &tile)
        unsafe tile.withUnsafeBytes { tile in
          guard let start = tile.baseAddress else { return }
          unsafe convert(
            start.assumingMemoryBound(to: UInt8.self),
            stride: place.width * PixelFormat.Plane.pixels.byteCount, to: place, into: image)
        }
      }
    }
  }

  /// Converts pixels that stand as the picture wants them.
  private func convert(
    _ pixels: UnsafePointer<UInt8>, stride: Int, to place: Rectangle,
    into image: borrowing MappedImage
  ) {
    let luma = unsafe image.luma + (place.y * image.lumaStride + place.x)
    let chroma = unsafe image.chroma + (place.y / 2 * image.chromaStride + place.x)
    unsafe withUnsafePointer(to: weights.bytes) { weights in
      unsafe porthole_nv12_from_pixels(
        weights, pixels, stride, place.width, place.height, codedWidth(of: place), luma,
        image.lumaStride, chroma, image.chromaStride)
    }
  }

  /// How wide `place` is once it reaches the right edge of the coded picture, if it does.
  private func codedWidth(of place: Rectangle) -> Int {
    place.x + place.width == geometry.width ? codedWidth - place.x : place.width
  }

  private func blacken(_ image: borrowing MappedImage) {
    for row in 0..<codedHeight {
      unsafe (image.luma + row * image.lumaStride).update(repeating: 16, count: codedWidth)
    }
    for row in 0..<codedHeight / 2 {
      unsafe (image.chroma + row * image.chromaStride).update(repeating: 128, count: codedWidth)
    }
  }

  private func repeatLastRow(of region: Rectangle, in image: borrowing MappedImage) {
    let width = codedWidth(of: region)
    let last = geometry.height - 1
    for row in geometry.height..<codedHeight {
      unsafe (image.luma + (row * image.lumaStride + region.x)).update(
        from: image.luma + (last * image.lumaStride + region.x), count: width)
    }
    let lastPair = last / 2
    for row in (lastPair + 1)..<(codedHeight / 2) {
      unsafe (image.chroma + (row * image.chromaStride + region.x)).update(
        from: image.chroma + (lastPair * image.chromaStride + region.x), count: width)
    }
  }
}

/// A region of the picture as lines of the frame: `along` counts what the frame's rows become, `across`
/// what its columns become, both in scaled pixels from the content's corner.
private struct Lines {
  let along: Range<Int>
  let across: Range<Int>
  private let geometry: PictureGeometry

  init(region: Rectangle, geometry: PictureGeometry) {
    self.geometry = geometry
    let x = region.x - geometry.content.x
    let y = region.y - geometry.content.y
    let columns = x..<x + region.width
    let rows = y..<y + region.height
    (along, across) = geometry.orientation.isTransposed ? (columns, rows) : (rows, columns)
  }

  /// The rows of the scaled frame that `along` is made of.
  func rows(at along: Range<Int>) -> Range<Int> {
    let count = geometry.scaled.height
    return geometry.orientation.reversesRows
      ? count - along.upperBound..<count - along.lowerBound : along
  }

  func place(along: Range<Int>, across: Range<Int>) -> Rectangle {
    let (x, y) = geometry.orientation.isTransposed ? (along, across) : (across, along)
    return Rectangle(
      x: geometry.content.x + x.lowerBound, y: geometry.content.y + y.lowerBound, width: x.count,
      height: y.count)
  }

  /// Where in a band of `rows` the pixel for the place's corner stands, and how far it is from there to
  /// the next one to the right and the next one down; in bytes.
  func steps(
    along: Int, across: Int, _ rows: Range<Int>, stride: Int
  ) -> (offset: Int, right: Int, down: Int) {
    let (width, height) = geometry.scaled
    let orientation = geometry.orientation
    let row = orientation.reversesRows ? height - 1 - along : along
    let column = orientation.reversesColumns ? width - 1 - across : across
    let rowStep = orientation.reversesRows ? -stride : stride
    let columnStep =
      orientation.reversesColumns
      ? -PixelFormat.Plane.pixels.byteCount : PixelFormat.Plane.pixels.byteCount
    let (right, down) = orientation.isTransposed ? (rowStep, columnStep) : (columnStep, rowStep)
    return (
      (row - rows.lowerBound) * stride + column * PixelFormat.Plane.pixels.byteCount, right, down
    )
  }
}
