import PipeWire
import Report
import VAAPI
import Wire

/// What an encoder is asked for.
struct EncoderConfiguration: Equatable, Sendable {
  /// From the frames to the pictures.
  private(set) var geometry: PictureGeometry
  var framesPerSecond = 30
  /// nil takes what suits the size.
  var bitsPerSecond: Int?
  /// nil takes the best that the driver has.
  var profile: Profile?
  var colour = Colour.bt709
  var display = DisplayChoice.auto
  /// Whether other pictures take memory beside it: the screen's and a camera's.
  var isBesideOthers = false
  /// Whether frames may come in formats that are unpacked before they are converted.
  var takesAnyFormat = false
  /// Whether frames come as JPEGs.
  var takesJPEGs = false
  /// What is mapped of their source's buffers however little is read of them.
  var mappedByteCount = 0
  /// Whether a pointer is drawn over the pictures.
  var drawsCursor = false
  /// The folder of the software driver's module: the executable's own.
  var driverFolder: String
  /// What pictures are made like, whatever the frames are.
  let wish: PictureWish

  /// Of frames, and so of pictures, of this size; they come upright.
  init(
    width: Int, height: Int, framesPerSecond: Int = 30, bitsPerSecond: Int? = nil,
    profile: Profile? = nil, colour: Colour = .bt709, display: DisplayChoice = .auto,
    driverFolder: String, wish: PictureWish = PictureWish()
  ) {
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
    self.profile = profile
    self.colour = colour
    self.display = display
    self.driverFolder = driverFolder
    self.wish = wish
    geometry = wish.geometry(of: FrameShape(width: width, height: height), isHalved: false)
  }

  /// Pictures are made of frames of this shape from now on; halved ones are half as wide and high,
  /// where they are not too small for it.
  mutating func takeFrames(_ shape: FrameShape, isHalved: Bool) {
    geometry = wish.geometry(of: shape, isHalved: isHalved)
  }

  /// Of the pictures, in pixels.
  var width: Int { geometry.width }
  var height: Int { geometry.height }

  /// Width and height in whole macroblocks, in luma samples.
  var codedWidth: Int { (width + 15) / 16 * 16 }
  var codedHeight: Int { (height + 15) / 16 * 16 }

  /// What is shown: 4:2:0 crops by two samples, so an odd size shows its last column or row twice.
  var displayWidth: Int { (width + 1) / 2 * 2 }
  var displayHeight: Int { (height + 1) / 2 * 2 }

  /// One NV12 surface: a byte of luma for each pixel, half a byte of chroma.
  var surfaceByteCount: Int { codedWidth * codedHeight * 3 / 2 }

  /// An access unit that codes every sample as it is takes the surface and 2 % for headers. Above
  /// 1080p a quarter of that is room enough for what is readable, and of screen and camera half of it up to
  /// 1080p; for what does not fit, room is made then, or it is coded again, coarser. No larger one than a
  /// message can carry is of use.
  var codedBufferByteCount: Int {
    let whole = surfaceByteCount + surfaceByteCount / 50 + 4096
    let share = isBesideOthers ? 2 : 1
    let needed = min(whole / share, max(Self.largestWholeByteCount / share, whole / 4))
    return min((needed + 4095) / 4096 * 4096, WireLimits.payload)
  }

  /// The whole of 1920 x 1088.
  private static let largestWholeByteCount = 3_200_000
}

extension EncoderConfiguration {
  /// What the options ask for, of these frames.
  init(_ options: Options, source: SourceFormat) {
    self.init(
      width: source.width, height: source.height, framesPerSecond: options.framesPerSecond,
      bitsPerSecond: options.bitsPerSecond, profile: options.profile, colour: options.colour,
      display: options.display, driverFolder: Executable.folder, wish: options.wish)
    isBesideOthers = options.camera != nil
    takesJPEGs = source.isCoded
    mappedByteCount = source.mappedByteCount
    switch options.source {
    case .node, .portal: drawsCursor = options.cursor == .drawn
    case .camera, .pattern: break
    }
    switch options.source {
    case .node, .camera: takesAnyFormat = true
    case .portal, .pattern: break
    }
  }
}

extension EncoderConfiguration {
  /// Of the camera beside the screen, whose pictures are as large as it gives them: `source` is that, or
  /// nil for what is wanted.
  init(cameraBeside options: Options, source: SourceFormat? = nil) {
    let wanted = CameraWish.besideSize
    self.init(
      width: source?.width ?? wanted.width, height: source?.height ?? wanted.height,
      framesPerSecond: options.framesPerSecond, profile: options.profile, colour: options.colour,
      display: options.display, driverFolder: Executable.folder)
    isBesideOthers = true
    takesAnyFormat = true
    takesJPEGs = source?.isCoded ?? false
    mappedByteCount = source?.mappedByteCount ?? 0
  }
}

extension Options {
  /// Of dma-bufs that `display` may read. The software driver reads what its process maps, and mapped a
  /// stripe at a time it costs less.
  func modifiers(of display: Display) -> [UInt64] {
    guard self.display != .none else { return [] }
    if colour == .bt601, DriverFamily(vendor: display.vendor) == .mesa {
      Log.note("the driver converts to BT.709 whatever it is told: BT.601 is made on the processor")
      return []
    }
    return display.importableModifiers()
  }
}
