import VAAPI
import Wire

/// What an encoder is asked for.
struct EncoderConfiguration: Equatable, Sendable {
  /// Of the pictures, in pixels: the frames' size, or half of it both ways.
  var width: Int
  var height: Int
  /// Whether frames are twice as wide and high as the pictures.
  var isHalved = false
  var framesPerSecond = 30
  /// nil takes what suits the size.
  var bitsPerSecond: Int?
  var profile = Profile.constrainedBaseline
  var display = DisplayChoice.auto
  /// The folder of the software driver's module: the executable's own.
  var driverFolder: String

  /// What is made of frames of this size: all of them, or half of them both ways. A frame too small to
  /// be halved stays as it is.
  mutating func takeFrames(width: Int, height: Int, isHalved: Bool) {
    self.isHalved = isHalved && min(width, height) >= Self.leastHalvedSide
    self.width = self.isHalved ? width / 2 : width
    self.height = self.isHalved ? height / 2 : height
  }

  private static let leastHalvedSide = 64

  /// Whether frames of this size make the configured pictures.
  func fits(width: Int, height: Int) -> Bool {
    isHalved
      ? (width / 2, height / 2) == (self.width, self.height)
      : (width, height) == (self.width, self.height)
  }

  /// Width and height in whole macroblocks, in luma samples.
  var codedWidth: Int { (width + 15) / 16 * 16 }
  var codedHeight: Int { (height + 15) / 16 * 16 }

  /// What is shown: 4:2:0 crops by two samples, so an odd size shows its last column or row twice.
  var displayWidth: Int { (width + 1) / 2 * 2 }
  var displayHeight: Int { (height + 1) / 2 * 2 }

  /// One NV12 surface: a byte of luma for each pixel, half a byte of chroma.
  var surfaceByteCount: Int { codedWidth * codedHeight * 3 / 2 }

  /// An access unit that codes every sample as it is takes the surface and 2 % for headers. Above
  /// 1080p a quarter of that is room enough for what is readable, and what does not fit is coded again,
  /// coarser. No larger one than a message can carry is of use.
  var codedBufferByteCount: Int {
    let whole = surfaceByteCount + surfaceByteCount / 50 + 4096
    let needed = min(whole, max(Self.largestWholeByteCount, whole / 4))
    return min((needed + 4095) / 4096 * 4096, WireLimits.payload)
  }

  /// The whole of 1920 x 1088.
  private static let largestWholeByteCount = 3_200_000
}
