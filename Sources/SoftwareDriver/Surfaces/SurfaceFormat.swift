internal import CVA

/// How a surface's or an image's pixels stand in memory. The letters are bytes, lowest address first.
enum SurfaceFormat: CaseIterable {
  case nv12, bgrx, bgra, rgbx, rgba

  init?(fourcc: UInt32) {
    guard let found = Self.allCases.first(where: { $0.fourcc == fourcc }) else { return nil }
    self = found
  }

  /// What a surface is made in when its client names no format.
  init?(renderTargetFormat: UInt32) {
    if renderTargetFormat & UInt32(VA_RT_FORMAT_YUV420) != 0 {
      self = .nv12
    } else if renderTargetFormat & UInt32(VA_RT_FORMAT_RGB32) != 0 {
      self = .bgrx
    } else {
      return nil
    }
  }

  /// VA_FOURCC_*.
  var fourcc: UInt32 {
    switch self {
    case .nv12: UInt32(VA_FOURCC_NV12)
    case .bgrx: UInt32(VA_FOURCC_BGRX)
    case .bgra: UInt32(VA_FOURCC_BGRA)
    case .rgbx: UInt32(VA_FOURCC_RGBX)
    case .rgba: UInt32(VA_FOURCC_RGBA)
    }
  }

  /// DRM_FORMAT_*, which name the letters of a little-endian word, highest first.
  var drmFourcc: UInt32 {
    switch self {
    case .nv12: Self.code("NV12")
    case .bgrx: Self.code("XR24")
    case .bgra: Self.code("AR24")
    case .rgbx: Self.code("XB24")
    case .rgba: Self.code("AB24")
    }
  }

  /// DRM_FORMAT_* of each plane by itself: NV12's as R8 and GR88.
  var drmPlanes: [UInt32] {
    self == .nv12 ? [Self.code("R8  "), Self.code("GR88")] : [drmFourcc]
  }

  /// The bit of VAConfigAttribRTFormat.
  var renderTargetFormat: UInt32 {
    UInt32(self == .nv12 ? VA_RT_FORMAT_YUV420 : VA_RT_FORMAT_RGB32)
  }

  /// Of the first plane.
  var bytesPerPixel: Int { self == .nv12 ? 1 : 4 }

  /// Which of a pixel's four bytes is red; green is the second, blue the other of 0 and 2.
  var redByte: Int { self == .rgbx || self == .rgba ? 0 : 2 }

  /// As `vaQueryImageFormats` lists it.
  var imageFormat: VAImageFormat {
    var format = VAImageFormat()
    format.fourcc = fourcc
    format.byte_order = UInt32(VA_LSB_FIRST)
    guard self != .nv12 else {
      format.bits_per_pixel = 12
      return format
    }
    format.bits_per_pixel = 32
    let hasAlpha = self == .bgra || self == .rgba
    format.depth = hasAlpha ? 32 : 24
    format.red_mask = 0xff << UInt32(8 * redByte)
    format.green_mask = 0xff00
    format.blue_mask = 0xff << UInt32(8 * (2 - redByte))
    format.alpha_mask = hasAlpha ? 0xff00_0000 : 0
    return format
  }

  private static func code(_ letters: String) -> UInt32 {
    letters.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}
