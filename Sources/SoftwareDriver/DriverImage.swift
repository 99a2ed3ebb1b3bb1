internal import CVA

/// An image of the client's: a layout, and the buffer with the pixels.
final class DriverImage {
  static var format: VAImageFormat {
    var format = VAImageFormat()
    format.fourcc = UInt32(VA_FOURCC_NV12)
    format.byte_order = UInt32(VA_LSB_FIRST)
    format.bits_per_pixel = 12
    return format
  }

  /// The layout, with the ids that the client has.
  var layout = VAImage()
  let pixels: DriverBuffer
  /// The surface whose own pixels these are, for a derived image that a client holds.
  var surface: Surface?

  /// An image over a surface's pixels; `surface` stays nil until a client derives it.
  init(pixelsOf surface: Surface) {
    pixels = DriverBuffer(storage: surface.storage)
    surface.describe(&layout)
  }

  var view: PictureView {
    let base = unsafe pixels.storage.base.assumingMemoryBound(to: UInt8.self)
    return unsafe PictureView(
      luma: base + Int(layout.offsets.0), chroma: base + Int(layout.offsets.1),
      stride: Int(layout.pitches.0))
  }
}
