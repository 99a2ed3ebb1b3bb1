import VAAPI
import Wire

/// What an encoder is asked for.
struct EncoderConfiguration: Equatable, Sendable {
  /// Of the frames, in pixels.
  var width: Int
  var height: Int
  var framesPerSecond = 30
  /// nil takes what suits the size.
  var bitsPerSecond: Int?
  var profile = Profile.constrainedBaseline
  var display = DisplayChoice.auto
  /// The folder of the software driver's module: the executable's own.
  var driverFolder: String

  /// Width and height in whole macroblocks, in luma samples.
  var codedWidth: Int { (width + 15) / 16 * 16 }
  var codedHeight: Int { (height + 15) / 16 * 16 }

  /// What is shown: 4:2:0 crops by two samples, so an odd size shows its last column or row twice.
  var displayWidth: Int { (width + 1) / 2 * 2 }
  var displayHeight: Int { (height + 1) / 2 * 2 }

  /// One NV12 surface: a byte of luma for each pixel, half a byte of chroma.
  var surfaceByteCount: Int { codedWidth * codedHeight * 3 / 2 }

  /// An access unit that codes every sample as it is takes the surface and 2 % for headers. No
  /// larger one than a message can carry is of use.
  var codedBufferByteCount: Int {
    let whole = surfaceByteCount + surfaceByteCount / 50 + 4096
    return min((whole + 4095) / 4096 * 4096, WireLimits.payload)
  }
}
