import CPixelKernels
import PipeWire
import Pixels
import VAAPI

/// Lays a pointer over the picture in an encoder's input for as long as it is encoded. What lies under it is
/// kept and put back, so that nobody who loads a frame knows of the pointer.
final class CursorOverlay {
  /// Of a pointer in a picture, in pixels: one that would grow larger with its picture does not.
  static let largestSide = CursorShape.largestSide

  /// An NV12 picture that may be read and written.
  @safe struct Planes {
    let luma: UnsafeMutablePointer<UInt8>
    let lumaStride: Int
    let chroma: UnsafeMutablePointer<UInt8>
    let chromaStride: Int
  }

  private let geometry: PictureGeometry
  private let weights: PixelWeights
  /// The shape that `sprite` was made of.
  private var shape: CursorShape?
  private var sprite: CursorSprite?
  /// Luma rows, then chroma rows, of `covered`, without gaps.
  private var kept: [UInt8] = []
  /// Its corner and its size are even.
  private var covered: Rectangle?

  init(geometry: PictureGeometry, colour: Colour) {
    self.geometry = geometry
    weights = colour.weights
  }

  /// What it holds at most beside the shape, for the memory plan: what is made of it where the picture is
  /// scaled or turned, and what lies under it.
  static func byteCount(geometry: PictureGeometry) -> Int {
    let isMade = geometry.isScaled || geometry.orientation != .upright
    let side = largestSide + 2
    return (isMade ? CursorShape.largestByteCount : 0) + side * side * 3 / 2
  }

  /// Where in the picture the pointer shows; nil where it does not. Allocates for a new shape only.
  func place(of cursor: Cursor) -> Rectangle? {
    if cursor.shape !== shape {
      shape = cursor.shape
      sprite = CursorSprite(cursor.shape, geometry: geometry)
    }
    return sprite?.place(of: cursor, geometry: geometry).intersection(bounds)
  }

  /// Draws it, and keeps what it covers.
  func lay(_ cursor: Cursor, over image: Planes) {
    guard let visible = place(of: cursor), let sprite else { return }
    let even = Rectangle(
      x: visible.x & ~1, y: visible.y & ~1,
      width: (visible.x + visible.width + 1) & ~1 - visible.x & ~1,
      height: (visible.y + visible.height + 1) & ~1 - visible.y & ~1)
    covered = even
    let byteCount = even.width * even.height * 3 / 2
    if kept.count < byteCount { kept = [UInt8](repeating: 0, count: byteCount) }
    unsafe move(image, even) { unsafe $1.update(from: $0, count: $2) }
    let corner = sprite.place(of: cursor, geometry: geometry)
    for y in stride(from: even.y, to: even.y + even.height, by: 2) {
      for x in stride(from: even.x, to: even.x + even.width, by: 2) {
        unsafe blend(sprite, from: (x - corner.x, y - corner.y), to: (x, y), of: image)
      }
    }
  }

  /// Puts back what it covered.
  func lift(from image: Planes) {
    guard let covered else { return }
    self.covered = nil
    unsafe move(image, covered) { unsafe $0.update(from: $1, count: $2) }
  }

  /// The picture without its bars; of odd sides what is shown twice too.
  private var bounds: Rectangle {
    let content = geometry.content
    return Rectangle(
      x: content.x, y: content.y, width: (content.width + 1) & ~1,
      height: (content.height + 1) & ~1)
  }

  /// Calls `body` with each of the rectangle's rows, and where it is kept, and how many bytes it has.
  private func move(
    _ image: Planes, _ place: Rectangle,
    _ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>, Int) -> Void
  ) {
    unsafe kept.withUnsafeMutableBufferPointer { kept in
      guard var target = kept.baseAddress else { return }
      for row in 0..<place.height * 3 / 2 {
        let pixels =
          unsafe row < place.height
          ? image.luma + (place.y + row) * image.lumaStride + place.x
          : image.chroma + (place.y / 2 + row - place.height) * image.chromaStride + place.x
        unsafe body(pixels, target, place.width)
        unsafe target += place.width
      }
    }
  }

  /// Four pixels, which share a chroma sample.
  @unsafe private func blend(
    _ sprite: CursorSprite, from: (x: Int, y: Int), to: (x: Int, y: Int),
    of image: Planes
  ) {
    var sum = (alpha: 0, red: 0, green: 0, blue: 0)
    for row in 0..<2 {
      for column in 0..<2 {
        guard let pixel = sprite.pixel(x: from.x + column, y: from.y + row) else { continue }
        let alpha = Int(pixel >> 24)
        let (red, green, blue) = (
          Int(pixel >> 16 & 0xff), Int(pixel >> 8 & 0xff), Int(pixel & 0xff)
        )
        let luma = unsafe image.luma + (to.y + row) * image.lumaStride + to.x + column
        unsafe luma.pointee = Self.mix(
          weights.y, red, green, blue, alpha: alpha, black: 16, under: luma.pointee, count: 1)
        sum = (sum.alpha + alpha, sum.red + red, sum.green + green, sum.blue + blue)
      }
    }
    guard sum.alpha > 0 else { return }
    let chroma = unsafe image.chroma + to.y / 2 * image.chromaStride + to.x
    unsafe chroma[0] = Self.mix(
      weights.cb, sum.red, sum.green, sum.blue, alpha: sum.alpha, black: 128, under: chroma[0],
      count: 4)
    unsafe chroma[1] = Self.mix(
      weights.cr, sum.red, sum.green, sum.blue, alpha: sum.alpha, black: 128, under: chroma[1],
      count: 4)
  }

  /// `count` pixels' sums of colours, multiplied by alpha already, over as many like `under`; rounded to the
  /// nearest.
  private static func mix(
    _ weights: (red: Int16, green: Int16, blue: Int16), _ red: Int, _ green: Int, _ blue: Int,
    alpha: Int, black: Int, under: UInt8, count: Int
  ) -> UInt8 {
    let colour = Int(weights.red) * red + Int(weights.green) * green + Int(weights.blue) * blue
    // In units of 2^-15 / 255 of a pixel.
    let whole = count * 255
    let sum = colour * 255 + (black * alpha + Int(under) * (whole - alpha)) << 15
    return UInt8(clamping: (sum + whole << 14) / (whole << 15))
  }
}

/// A pointer's shape as a picture shows it: scaled, and then turned.
struct CursorSprite {
  let width, height: Int
  /// As `CursorShape.pixels`.
  private let pixels: [UInt32]
  /// Of the shape before it is turned.
  private let scaled: (width: Int, height: Int)
  private let hotspot: (x: Int, y: Int)

  init(_ shape: CursorShape, geometry: PictureGeometry) {
    let frame = geometry.frame
    let (width, height) = geometry.scaled
    func scale(_ side: Int, _ from: Int, _ to: Int) -> Int {
      min(max(1, (side * to + from / 2) / from), CursorOverlay.largestSide)
    }
    scaled = (
      scale(shape.width, frame.width, width), scale(shape.height, frame.height, height)
    )
    hotspot = (
      shape.hotspotX * scaled.width / shape.width, shape.hotspotY * scaled.height / shape.height
    )
    let orientation = geometry.orientation
    let flat = Self.resample(shape, to: scaled)
    guard orientation != .upright else {
      (self.width, self.height, pixels) = (scaled.width, scaled.height, flat)
      return
    }
    let size =
      orientation.isTransposed ? (scaled.height, scaled.width) : (scaled.width, scaled.height)
    (self.width, self.height) = size
    var turned = [UInt32](repeating: 0, count: flat.count)
    for y in 0..<size.1 {
      for x in 0..<size.0 {
        let (column, row) = orientation.isTransposed ? (y, x) : (x, y)
        turned[y * size.0 + x] =
          flat[
            (orientation.reversesRows ? scaled.height - 1 - row : row) * scaled.width
              + (orientation.reversesColumns ? scaled.width - 1 - column : column)]
      }
    }
    pixels = turned
  }

  /// Where all of it would stand in the picture.
  func place(of cursor: Cursor, geometry: PictureGeometry) -> Rectangle {
    func scale(_ place: Int, _ from: Int, _ to: Int) -> Int {
      // Rounded down, on either side of 0.
      place >= 0 ? place * to / from : -((-place * to + from - 1) / from)
    }
    let whole = geometry.scaled
    var left = scale(cursor.x, geometry.frame.width, whole.width) - hotspot.x
    var top = scale(cursor.y, geometry.frame.height, whole.height) - hotspot.y
    if geometry.orientation.reversesColumns { left = whole.width - left - scaled.width }
    if geometry.orientation.reversesRows { top = whole.height - top - scaled.height }
    if geometry.orientation.isTransposed { (left, top) = (top, left) }
    return Rectangle(
      x: geometry.content.x + left, y: geometry.content.y + top, width: width, height: height)
  }

  /// nil outside.
  func pixel(x: Int, y: Int) -> UInt32? {
    guard x >= 0, x < width, y >= 0, y < height else { return nil }
    return pixels[y * width + x]
  }

  private static func resample(
    _ shape: CursorShape, to size: (width: Int, height: Int)
  ) -> [UInt32] {
    guard size != (shape.width, shape.height) else { return shape.pixels }
    let columns = ResampleTaps(from: shape.width, to: size.width)
    let rows = ResampleTaps(from: shape.height, to: size.height)
    var sums = [UInt16](repeating: 0, count: shape.width * 4)
    var scaled = [UInt32](repeating: 0, count: size.width * size.height)
    unsafe shape.pixels.withUnsafeBytes { pixels in
      unsafe scaled.withUnsafeMutableBufferPointer { scaled in
        guard let from = pixels.baseAddress, let to = scaled.baseAddress else { return }
        for row in 0..<size.height {
          unsafe rows.weights.withUnsafeBufferPointer { weights in
            unsafe porthole_sum_rows(
              from.assumingMemoryBound(to: UInt8.self) + Int(rows.first[row]) * shape.width * 4,
              shape.width * 4, weights.baseAddress! + row * rows.count, rows.count, sums.count,
              &sums)
          }
          unsafe porthole_sum_columns(
            sums, columns.first, columns.weights, columns.count, size.width, to + row * size.width)
        }
      }
    }
    return scaled
  }
}
