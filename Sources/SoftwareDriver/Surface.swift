internal import CVA

/// An NV12 picture of the client's, whole macroblocks both ways.
@safe final class Surface {
  let width: Int
  let height: Int
  let stride: Int
  let codedHeight: Int
  let storage: ByteBlock

  /// What the encoder remembers of a reconstruction; nil until the surface first was one.
  var reconstruction: Reconstruction?
  /// False once the client wrote pixels over a reconstruction: it is no reference any more.
  var isReference = false
  /// A derived image that its client gave back, for the next: clients derive one for each picture.
  var spareImage: DriverImage?
  /// Images derived from this surface that the client still holds.
  var derivedImages = 0

  init(width: Int, height: Int) throws(DriverError) {
    guard width > 0, height > 0 else { throw .invalidParameter }
    guard width <= EncodeConfig.largestSide, height <= EncodeConfig.largestSide else {
      throw .resolutionNotSupported
    }
    self.width = width
    self.height = height
    stride = (width + 15) & ~15
    codedHeight = (height + 15) & ~15
    storage = try ByteBlock(byteCount: stride * codedHeight * 3 / 2)
  }

  var view: PictureView {
    let luma = unsafe storage.base.assumingMemoryBound(to: UInt8.self)
    return unsafe PictureView(luma: luma, chroma: luma + stride * codedHeight, stride: stride)
  }

  /// Whether a picture of so many macroblocks fits in.
  func holds(columns: Int, rows: Int) -> Bool {
    stride >= columns * 16 && codedHeight >= rows * 16
  }

  /// The layout that images of this surface have, derived ones included.
  func describe(_ image: inout VAImage) {
    image.format = DriverImage.format
    image.width = UInt16(width)
    image.height = UInt16(height)
    image.data_size = UInt32(stride * codedHeight * 3 / 2)
    image.num_planes = 2
    image.pitches = (UInt32(stride), UInt32(stride), 0)
    image.offsets = (0, UInt32(stride * codedHeight), 0)
  }
}
