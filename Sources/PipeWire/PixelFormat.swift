import CPipeWire

/// How pixels stand in memory, lowest address first; `x` is unused.
package enum PixelFormat: CaseIterable, Sendable {
  // Four bytes a pixel.
  case bgrx, bgra, rgbx, rgba, xrgb, argb, xbgr, abgr
  // Ten bits a colour in little-endian words, named from the most significant bits on.
  case xrgb210, argb210, xbgr210, abgr210, rgbx102, rgba102, bgrx102, bgra102
  // Y, and Cb and Cr of half the width: and of half the height, in pairs or in planes of their own; or
  // between the Y.
  case nv12, i420, yuy2
  // Y, and planes of Cb and Cr: of half the width, and of the same size; and Y alone.
  case y42b, y444, gray8
  /// No pixels, but a JPEG for each picture: of cameras alone.
  case mjpeg

  /// Those that lie in memory as pixels.
  package static let plain = allCases.filter { $0 != .mjpeg }

  /// How one plane stands: a sample of `byteCount` bytes for each block of 2^`across` x 2^`down` pixels.
  package struct Plane: Equatable, Sendable {
    package let byteCount: Int
    package let across: Int
    package let down: Int

    /// Of formats whose pixels are words of 32 bits.
    package static let pixels = Plane(byteCount: 4, across: 0, down: 0)

    /// Of `count` pixels from pixel `first` of a row, those of samples that they share included.
    package func byteCount(ofPixels count: Int, from first: Int = 0) -> Int {
      ((first + count - 1) >> across - first >> across + 1) * byteCount
    }

    /// The plane's rows for these rows of pixels, of which there is at least one.
    package func rows(of rows: Range<Int>) -> Range<Int> {
      rows.lowerBound >> down..<(rows.upperBound - 1) >> down + 1
    }
  }

  /// 1 for pixels and for JPEGs.
  package var planeCount: Int {
    switch self {
    case .nv12: 2
    case .i420, .y42b, .y444: 3
    default: 1
    }
  }

  /// `index` from 0, below `planeCount`; Y first.
  package func plane(_ index: Int) -> Plane {
    switch (self, index) {
    case (.nv12, 0), (.i420, 0), (.y42b, 0), (.y444, _), (.gray8, _):
      Plane(byteCount: 1, across: 0, down: 0)
    case (.nv12, _): Plane(byteCount: 2, across: 1, down: 1)
    case (.i420, _): Plane(byteCount: 1, across: 1, down: 1)
    case (.y42b, _): Plane(byteCount: 1, across: 1, down: 0)
    case (.yuy2, _): Plane(byteCount: 4, across: 1, down: 0)
    default: .pixels
    }
  }

  /// Whether its samples are Y, Cb and Cr.
  package var isYCbCr: Bool {
    switch self {
    case .nv12, .i420, .yuy2, .y42b, .y444, .gray8: true
    default: false
    }
  }

  /// Those that are asked for in dma-bufs: what drivers' video processors take.
  package static let device: [PixelFormat] = [.bgrx, .bgra, .rgbx, .rgba]
}

extension PixelFormat {
  /// SPA's number for it.
  package var spa: UInt32 {
    switch self {
    case .bgrx: SPA_VIDEO_FORMAT_BGRx.rawValue
    case .bgra: SPA_VIDEO_FORMAT_BGRA.rawValue
    case .rgbx: SPA_VIDEO_FORMAT_RGBx.rawValue
    case .rgba: SPA_VIDEO_FORMAT_RGBA.rawValue
    case .xrgb: SPA_VIDEO_FORMAT_xRGB.rawValue
    case .argb: SPA_VIDEO_FORMAT_ARGB.rawValue
    case .xbgr: SPA_VIDEO_FORMAT_xBGR.rawValue
    case .abgr: SPA_VIDEO_FORMAT_ABGR.rawValue
    case .xrgb210: SPA_VIDEO_FORMAT_xRGB_210LE.rawValue
    case .argb210: SPA_VIDEO_FORMAT_ARGB_210LE.rawValue
    case .xbgr210: SPA_VIDEO_FORMAT_xBGR_210LE.rawValue
    case .abgr210: SPA_VIDEO_FORMAT_ABGR_210LE.rawValue
    case .rgbx102: SPA_VIDEO_FORMAT_RGBx_102LE.rawValue
    case .rgba102: SPA_VIDEO_FORMAT_RGBA_102LE.rawValue
    case .bgrx102: SPA_VIDEO_FORMAT_BGRx_102LE.rawValue
    case .bgra102: SPA_VIDEO_FORMAT_BGRA_102LE.rawValue
    case .nv12: SPA_VIDEO_FORMAT_NV12.rawValue
    case .i420: SPA_VIDEO_FORMAT_I420.rawValue
    case .yuy2: SPA_VIDEO_FORMAT_YUY2.rawValue
    case .y42b: SPA_VIDEO_FORMAT_Y42B.rawValue
    case .y444: SPA_VIDEO_FORMAT_Y444.rawValue
    case .gray8: SPA_VIDEO_FORMAT_GRAY8.rawValue
    case .mjpeg: SPA_VIDEO_FORMAT_ENCODED.rawValue
    }
  }

  /// Of pixels; nil for a format that is not asked for.
  package init?(spa: UInt32) {
    guard let format = Self.plain.first(where: { $0.spa == spa }) else { return nil }
    self = format
  }
}
