internal import CVA

/// Where the planes of a picture lie in its memory; both planes of NV12 have one stride.
struct SurfaceLayout {
  let format: SurfaceFormat
  let width: Int
  let height: Int
  let stride: Int
  /// Rows that are there: as many as the picture's or more.
  let rows: Int
  /// Bytes to the first plane, and to NV12's second.
  let offset: Int
  let chromaOffset: Int

  /// A layout of our own: whole macroblocks both ways.
  init(format: SurfaceFormat, width: Int, height: Int) throws(DriverError) {
    try Self.check(width: width, height: height)
    self.format = format
    self.width = width
    self.height = height
    stride = Self.coded(width) * format.bytesPerPixel
    rows = Self.coded(height)
    offset = 0
    chromaOffset = stride * rows
  }

  /// Somebody else's layout.
  init(
    format: SurfaceFormat, width: Int, height: Int, stride: Int, offset: Int, chromaOffset: Int
  ) throws(DriverError) {
    try Self.check(width: width, height: height)
    guard stride >= width * format.bytesPerPixel, format != .nv12 || height & 1 == 0 else {
      throw .invalidParameter.because("a pitch less than a row, or an odd height")
    }
    self.format = format
    self.width = width
    self.height = height
    self.stride = stride
    rows = height
    self.offset = offset
    self.chromaOffset = chromaOffset
  }

  /// What has to be there, from byte 0 on.
  var byteCount: Int {
    let luma = offset + stride * (rows - 1) + rowByteCount
    return format == .nv12 ? max(luma, chromaOffset + stride * (rows / 2 - 1) + rowByteCount) : luma
  }

  /// Bytes of a row that hold pixels, in either plane. A row of our own is all pixels.
  private var rowByteCount: Int {
    let whole = Self.coded(width) * format.bytesPerPixel
    guard stride != whole else { return whole }
    return format == .nv12 ? (width + 1) & ~1 : width * 4
  }

  /// The same for a client's image.
  var image: VAImage {
    var image = VAImage()
    image.format = format.imageFormat
    image.width = UInt16(width)
    image.height = UInt16(height)
    image.data_size = UInt32(byteCount)
    image.num_planes = format == .nv12 ? 2 : 1
    let second = format == .nv12
    image.pitches = (UInt32(stride), second ? UInt32(stride) : 0, 0)
    image.offsets = (UInt32(offset), second ? UInt32(chromaOffset) : 0, 0)
    return image
  }

  private static func coded(_ side: Int) -> Int { (side + 15) & ~15 }

  private static func check(width: Int, height: Int) throws(DriverError) {
    guard width > 0, height > 0 else { throw .invalidParameter }
    guard width <= EncodeConfig.largestSide, height <= EncodeConfig.largestSide else {
      throw .resolutionNotSupported
    }
  }
}
