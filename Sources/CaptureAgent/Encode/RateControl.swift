import VAAPI

/// How many bits a second are spent, and how a driver is told.
struct RateControl: Equatable, Sendable {
  let bitsPerSecond: Int
  let framesPerSecond: Int

  /// No picture of a screen is better for a finer quantiser than this, only larger.
  static let minQP = 18
  /// Constant quantiser, for drivers without rate control, and where every picture starts.
  static let constantQP = 26
  /// How much coarser a picture is coded again that did not fit: about half the bits.
  static let coarser = 6

  static let maxQP = 51
  /// What the modes that aim at a quality aim at: letters stay sharp, and a still screen costs nothing.
  static let quality = 24

  private static let bounds = 100_000...100_000_000

  init(configuration: EncoderConfiguration) {
    framesPerSecond = configuration.framesPerSecond
    let wanted =
      configuration.bitsPerSecond
      ?? Self.suitable(
        width: configuration.width, height: configuration.height, framesPerSecond: framesPerSecond)
    bitsPerSecond = min(max(wanted, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// 6 Mbit/s for 1080p at 30 frames a second. Larger pictures need fewer bits a pixel, for their
  /// letters are larger too; more frames a second differ less from each other.
  static func suitable(width: Int, height: Int, framesPerSecond: Int) -> Int {
    let size = Double(width * height) / (1920 * 1080)
    let rate = Double(framesPerSecond) / 30
    let scale = size.squareRoot() * size.squareRoot().squareRoot() * rate.squareRoot()
    return max(500_000, Int(6_000_000 * scale))
  }

  /// In a driver's words, with the finest quantiser raised by `raise`.
  ///
  /// The receiver's buffer is modelled as one second, for smaller ones look bad at a scene change; but
  /// Intel's variable rate keeps to the link best with a buffer of one frame.
  func parameters(raise: Int, for family: DriverFamily) -> RateControlParameters {
    RateControlParameters(
      bitsPerSecond: bitsPerSecond, framesPerSecond: framesPerSecond,
      bufferBits: family == .intel ? bitsPerSecond / framesPerSecond : bitsPerSecond,
      windowMilliseconds: 1000, initialQP: raise > 0 ? min(Self.maxQP, Self.constantQP + raise) : 0,
      minQP: min(Self.maxQP, Self.minQP + raise), maxQP: Self.maxQP,
      quality: min(Self.maxQP, Self.quality + raise))
  }
}
