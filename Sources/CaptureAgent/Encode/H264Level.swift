/// The levels of H.264 table A-1, as far as they bound an encoder with one reference picture.
struct H264Level: Equatable, Sendable {
  /// Level times ten, as in the SPS.
  let idc: UInt8
  /// Macroblocks a second and macroblocks a frame.
  let maxRate: Int
  let maxFrameSize: Int
  /// Kilobits a second.
  let maxBitrate: Int

  static let all: [H264Level] = [
    H264Level(10, 1_485, 99, 64), H264Level(11, 3_000, 396, 192),
    H264Level(12, 6_000, 396, 384), H264Level(13, 11_880, 396, 768),
    H264Level(20, 11_880, 396, 2_000), H264Level(21, 19_800, 792, 4_000),
    H264Level(22, 20_250, 1_620, 4_000), H264Level(30, 40_500, 1_620, 10_000),
    H264Level(31, 108_000, 3_600, 14_000), H264Level(32, 216_000, 5_120, 20_000),
    H264Level(40, 245_760, 8_192, 20_000), H264Level(41, 245_760, 8_192, 50_000),
    H264Level(42, 522_240, 8_704, 50_000), H264Level(50, 589_824, 22_080, 135_000),
    H264Level(51, 983_040, 36_864, 240_000), H264Level(52, 2_073_600, 36_864, 240_000),
    H264Level(60, 4_177_920, 139_264, 240_000), H264Level(61, 8_355_840, 139_264, 480_000),
    H264Level(62, 16_711_680, 139_264, 800_000),
  ]

  private init(_ idc: UInt8, _ maxRate: Int, _ maxFrameSize: Int, _ maxBitrate: Int) {
    self.idc = idc
    self.maxRate = maxRate
    self.maxFrameSize = maxFrameSize
    self.maxBitrate = maxBitrate
  }

  /// The lowest level that allows the picture, the rate and the bit rate; nil when none does. No
  /// side may be longer than the square root of eight frame sizes (clause A.3.1).
  static func lowest(
    widthInMacroblocks width: Int, heightInMacroblocks height: Int, framesPerSecond: Int,
    bitsPerSecond: Int
  ) -> H264Level? {
    all.first { level in
      width * height <= level.maxFrameSize
        && width * height * framesPerSecond <= level.maxRate
        && max(width, height) * max(width, height) <= 8 * level.maxFrameSize
        && bitsPerSecond <= level.maxBitrate * 1000
    }
  }
}
