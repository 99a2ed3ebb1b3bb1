import CVA
import Glibc

/// How a pixel's four bytes stand in memory, lowest address first; `x` is unused. DRM names them the
/// other way round, as a little-endian word.
package enum RGBFormat: Sendable {
  case bgrx, bgra, rgbx, rgba

  /// VA_FOURCC_*, macros that do not import.
  var vaFourcc: UInt32 {
    switch self {
    case .bgrx: Self.fourcc("BGRX")
    case .bgra: Self.fourcc("BGRA")
    case .rgbx: Self.fourcc("RGBX")
    case .rgba: Self.fourcc("RGBA")
    }
  }

  /// DRM_FORMAT_XRGB8888, ARGB8888, XBGR8888, ABGR8888.
  var drmFourcc: UInt32 {
    switch self {
    case .bgrx: Self.fourcc("XR24")
    case .bgra: Self.fourcc("AR24")
    case .rgbx: Self.fourcc("XB24")
    case .rgba: Self.fourcc("AB24")
    }
  }

  private static func fourcc(_ letters: String) -> UInt32 {
    letters.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// A picture that lies in dma-bufs, or in memfds that stand in for them.
package struct DMABufLayout: Equatable, Sendable {
  /// One of up to four: compressed tilings have planes beside the pixels.
  package struct Plane: Equatable, Sendable {
    /// The owner's; it is neither kept nor closed.
    package var fd: Int32
    package var offset: Int
    package var stride: Int

    package init(fd: Int32, offset: Int, stride: Int) {
      self.fd = fd
      self.offset = offset
      self.stride = stride
    }
  }

  package var format: RGBFormat
  package var width: Int
  package var height: Int
  /// DRM_FORMAT_MOD_*; `DRMModifier.invalid` where the producer and the driver agree in silence.
  package var modifier: UInt64
  package var planes: [Plane]

  package init(format: RGBFormat, width: Int, height: Int, modifier: UInt64, planes: [Plane]) {
    self.format = format
    self.width = width
    self.height = height
    self.modifier = modifier
    self.planes = planes
  }

  /// In libva's words: one object for each descriptor, one layer of all planes.
  func descriptor() throws(VAError) -> VADRMPRIMESurfaceDescriptor {
    guard (1...4).contains(planes.count) else {
      throw .unavailable("a picture of \(planes.count) planes")
    }
    // libva's own fourcc and DRM's for the layer: mixed up, every import fails.
    var picture = ph_prime_picture()
    picture.va_fourcc = format.vaFourcc
    picture.drm_fourcc = format.drmFourcc
    picture.width = UInt32(width)
    picture.height = UInt32(height)
    picture.modifier = modifier
    picture.plane_count = UInt32(planes.count)
    let all = (0..<4).map { index in
      planes.indices.contains(index)
        ? ph_prime_plane(
          fd: planes[index].fd, offset: UInt32(planes[index].offset),
          pitch: UInt32(planes[index].stride))
        : ph_prime_plane(fd: -1, offset: 0, pitch: 0)
    }
    picture.planes = (all[0], all[1], all[2], all[3])
    let sizes = all.map { $0.fd < 0 ? 0 : UInt32(clamping: max(0, lseek($0.fd, 0, SEEK_END))) }
    return unsafe ph_pack_prime(&picture, sizes)
  }

  /// A picture that the driver gave out; nil when it is not one layer of up to four planes.
  init?(exported: VADRMPRIMESurfaceDescriptor) {
    var exported = exported
    let picture = unsafe ph_unpack_prime(&exported)
    guard picture.plane_count > 0 else { return nil }
    let all = [picture.planes.0, picture.planes.1, picture.planes.2, picture.planes.3]
    self.init(
      format: .bgrx, width: Int(picture.width), height: Int(picture.height),
      modifier: picture.modifier,
      planes: all.prefix(Int(picture.plane_count)).map {
        Plane(fd: $0.fd, offset: Int($0.offset), stride: Int($0.pitch))
      })
  }
}

/// Format modifiers, of drm_fourcc.h.
package enum DRMModifier {
  package static let linear: UInt64 = 0
  /// DRM_FORMAT_MOD_INVALID: nobody says which.
  package static let invalid: UInt64 = (1 << 56) - 1

  /// What Intel's devices write: X, Y, Yf and 4 tiled, and the compressed kinds that its encoders read:
  /// not those of Skylake nor those with a clear colour, which no driver imports.
  static let intel: [UInt64] = [1, 2, 3, 6, 7, 9, 10, 11, 13, 14].map { 1 << 56 | $0 }
}
