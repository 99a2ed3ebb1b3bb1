import CPipeWire

/// How a pixel's four bytes stand in memory, lowest address first; `x` is unused.
package enum PixelFormat: CaseIterable, Sendable {
  case bgrx, bgra, rgbx, rgba

  package static let byteCount = 4
}

/// What a stream and its producer agreed on.
package struct VideoFormat: Equatable, Sendable {
  package let pixel: PixelFormat
  package let width: Int
  package let height: Int
  /// DRM_FORMAT_MOD_* of pictures in dma-bufs; nil when they lie in memory that anyone can map.
  package let modifier: UInt64?
}

extension PixelFormat {
  /// SPA's number for it.
  var spa: UInt32 {
    switch self {
    case .bgrx: SPA_VIDEO_FORMAT_BGRx.rawValue
    case .bgra: SPA_VIDEO_FORMAT_BGRA.rawValue
    case .rgbx: SPA_VIDEO_FORMAT_RGBx.rawValue
    case .rgba: SPA_VIDEO_FORMAT_RGBA.rawValue
    }
  }
}
