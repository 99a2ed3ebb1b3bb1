internal import CVA

/// An image of the client's: the layout, and the id of the buffer with its pixels.
final class DriverImage {
  static var format: VAImageFormat {
    var format = VAImageFormat()
    format.fourcc = UInt32(VA_FOURCC_NV12)
    format.byte_order = UInt32(VA_LSB_FIRST)
    format.bits_per_pixel = 12
    return format
  }

  var layout: VAImage
  /// The surface whose own pixels these are, for a derived image.
  var surface: Surface?

  init(layout: VAImage, surface: Surface?) {
    self.layout = layout
    self.surface = surface
  }
}
