import CPipeWire

/// What a stream and its producer agreed on.
package struct VideoFormat: Equatable, Sendable {
  package let pixel: PixelFormat
  /// In pixels; a picture's crop may show less.
  package let width: Int
  package let height: Int
  /// DRM_FORMAT_MOD_* of pictures in dma-bufs; nil when they lie in memory that anyone can map.
  package let modifier: UInt64?
  /// Of formats with Y, Cb and Cr.
  package let colour: SampleColour
}

/// What a producer said of its Y, Cb and Cr; nil where it said nothing that is known here.
package struct SampleColour: Equatable, Sendable {
  package enum Matrix: Equatable, Sendable {
    case bt601, bt709, bt2020, smpte240, fcc
  }

  package var matrix: Matrix?
  /// Whether black is 0, and not 16.
  package var isFullRange: Bool?

  package init(matrix: Matrix? = nil, isFullRange: Bool? = nil) {
    self.matrix = matrix
    self.isFullRange = isFullRange
  }

  init(_ info: spa_video_info_raw) {
    switch info.color_matrix {
    case SPA_VIDEO_COLOR_MATRIX_BT601: matrix = .bt601
    case SPA_VIDEO_COLOR_MATRIX_BT709: matrix = .bt709
    case SPA_VIDEO_COLOR_MATRIX_BT2020: matrix = .bt2020
    case SPA_VIDEO_COLOR_MATRIX_SMPTE240M: matrix = .smpte240
    case SPA_VIDEO_COLOR_MATRIX_FCC: matrix = .fcc
    default: break
    }
    switch info.color_range {
    case SPA_VIDEO_COLOR_RANGE_0_255: isFullRange = true
    case SPA_VIDEO_COLOR_RANGE_16_235: isFullRange = false
    default: break
    }
  }
}

/// A kind of dma-bufs that can be asked for.
package struct DMABufChoice: Equatable, Sendable {
  package let format: PixelFormat
  /// DRM_FORMAT_MOD_*.
  package let modifier: UInt64

  package init(format: PixelFormat, modifier: UInt64) {
    self.format = format
    self.modifier = modifier
  }
}
