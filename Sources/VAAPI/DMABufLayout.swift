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
    var new = VADRMPRIMESurfaceDescriptor()
    // libva's own fourcc here and DRM's for the layer: mixed up, every import fails.
    new.fourcc = format.vaFourcc
    new.width = UInt32(width)
    new.height = UInt32(height)
    unsafe va_prime_add_layer(&new, format.drmFourcc)
    var fds: [Int32] = []
    for plane in planes {
      let object = fds.firstIndex(of: plane.fd) ?? fds.count
      if object == fds.count {
        fds.append(plane.fd)
        let size = UInt32(clamping: max(0, lseek(plane.fd, 0, SEEK_END)))
        unsafe va_prime_set_object(
          &new, UInt32(object), va_prime_object(fd: plane.fd, size: size, modifier: modifier))
      }
      unsafe va_prime_put_plane(
        &new,
        va_prime_plane(
          object: UInt32(object), offset: UInt32(plane.offset), pitch: UInt32(plane.stride)))
    }
    new.num_objects = UInt32(fds.count)
    return new
  }

  /// A picture that the driver gave out; nil when it is not one layer of up to four planes.
  init?(exported: VADRMPRIMESurfaceDescriptor) {
    var exported = exported
    let count = unsafe va_prime_plane_count(&exported, 0)
    guard exported.num_layers == 1, (1...4).contains(count) else { return nil }
    var planes: [Plane] = []
    for index in 0..<count {
      let plane = unsafe va_prime_plane(&exported, 0, index)
      let object = unsafe va_prime_object(&exported, plane.object & 3)
      planes.append(Plane(fd: object.fd, offset: Int(plane.offset), stride: Int(plane.pitch)))
    }
    self.init(
      format: .bgrx, width: Int(exported.width), height: Int(exported.height),
      modifier: unsafe va_prime_object(&exported, 0).modifier, planes: planes)
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
