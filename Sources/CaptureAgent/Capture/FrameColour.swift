import PipeWire
import Pixels

/// What a frame's Y, Cb and Cr stand for.
struct FrameColour: Equatable, Sendable {
  var matrix: ColourMatrix
  /// Whether black is 0, and not 16.
  var isFullRange: Bool

  /// What an encoder's own pictures are by default, and frames of RGB have no use for.
  static let standard = FrameColour(matrix: .bt709, isFullRange: false)

  /// Of JPEGs: BT.601 of full range at any size (JFIF 1.02, "Color Space"; USB Video Class 1.5, 3.9.2.6).
  static let jpeg = FrameColour(matrix: .bt601, isFullRange: true)

  // Above it are pictures of high definition, as GStreamer, ffmpeg's filters and players have it.
  private static let standardDefinitionHeight = 576

  init(matrix: ColourMatrix, isFullRange: Bool) {
    self.matrix = matrix
    self.isFullRange = isFullRange
  }

  /// What `format` says, else what is usual: limited range; of a video device BT.601 at any size (USB Video
  /// Class 1.5, 3.9.2.6), and of anything else by its size.
  init(of format: VideoFormat, isVideoDevice: Bool) {
    isFullRange = format.colour.isFullRange ?? false
    switch format.colour.matrix {
    case .bt601: matrix = .bt601
    case .bt709: matrix = .bt709
    case .bt2020: matrix = .bt2020
    case .smpte240: matrix = .smpte240
    case .fcc: matrix = .fcc
    case nil:
      matrix =
        isVideoDevice || format.height <= Self.standardDefinitionHeight ? .bt601 : .bt709
    }
  }
}
