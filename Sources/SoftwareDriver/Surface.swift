internal import CVA

/// An NV12 picture of the client's, whole macroblocks both ways.
@safe final class Surface {
  let width: Int
  let height: Int
  let stride: Int
  let codedHeight: Int
  let pixels: SurfacePixels

  /// What the encoder remembers of a reconstruction; nil until the surface first was one.
  var reconstruction: Reconstruction?
  /// False once the client wrote pixels over a reconstruction: it is no reference any more.
  var isReference = false
  /// When the last picture that used the surface is over, on the steady clock.
  var readyAt: UInt64 = 0
  /// Images derived from this surface that the client still holds.
  var derivedImages = 0
  /// An image derived before and given back, so that the next one allocates nothing.
  var spareImage: SpareImage?

  struct SpareImage {
    let image: DriverImage
    let buffer: DriverBuffer
  }

  init(
    width: Int, height: Int, keptByteCount: Int = SurfacePixels.keptByteCount
  ) throws(DriverError) {
    try Self.check(width: width, height: height)
    self.width = width
    self.height = height
    stride = Self.coded(width)
    codedHeight = Self.coded(height)
    pixels = try SurfacePixels(
      byteCount: stride * codedHeight * 3 / 2, keptByteCount: keptByteCount)
  }

  /// Holds all pixels, until as many calls of `pixels.release`.
  func hold() throws(DriverError) -> PictureView {
    let luma = unsafe try pixels.hold().assumingMemoryBound(to: UInt8.self)
    return unsafe PictureView(luma: luma, chroma: luma + stride * codedHeight, stride: stride)
  }

  var isIdle: Bool { readyAt == 0 || readyAt <= steadyNanoseconds() }

  /// Refuses a surface that a picture under way still uses.
  func checkIdle() throws(DriverError) {
    guard isIdle else {
      throw .surfaceBusy.because("a surface touched before the picture that uses it was waited for")
    }
  }

  /// Whether a picture of so many macroblocks fits in.
  func holds(columns: Int, rows: Int) -> Bool {
    stride >= columns * 16 && codedHeight >= rows * 16
  }

  /// The layout that images of a surface of this size have, derived ones included.
  static func describe(_ image: inout VAImage, width: Int, height: Int) throws(DriverError) {
    try check(width: width, height: height)
    let lumaByteCount = coded(width) * coded(height)
    image.format = DriverImage.format
    image.width = UInt16(width)
    image.height = UInt16(height)
    image.data_size = UInt32(lumaByteCount * 3 / 2)
    image.num_planes = 2
    image.pitches = (UInt32(coded(width)), UInt32(coded(width)), 0)
    image.offsets = (0, UInt32(lumaByteCount), 0)
  }

  private static func coded(_ side: Int) -> Int { (side + 15) & ~15 }

  private static func check(width: Int, height: Int) throws(DriverError) {
    guard width > 0, height > 0 else { throw .invalidParameter }
    guard width <= EncodeConfig.largestSide, height <= EncodeConfig.largestSide else {
      throw .resolutionNotSupported
    }
  }
}
