import CLinux
import CVA
import Glibc
import Testing

@testable import SoftwareDriver

/// A memfd that stands in for a dma-buf, with a picture in it, and the descriptor that imports it.
final class PrimeMemory {
  let descriptor: Int32
  let bytes: UnsafeMutableRawBufferPointer
  var prime = VADRMPRIMESurfaceDescriptor()

  /// Memory for a picture of `format` with padded rows that begins behind `offset` bytes.
  init(_ format: SurfaceFormat, width: Int, height: Int, offset: Int = 64, padding: Int = 32) throws
  {
    let stride = width * format.bytesPerPixel + padding
    let rows = format == .nv12 ? height * 3 / 2 : height
    let size = wholePages(offset + stride * rows)
    descriptor = memfd_create("stand-in", UInt32(MFD_CLOEXEC))
    try #require(descriptor >= 0 && ftruncate(descriptor, size) == 0)
    let pages = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    try #require(pages != MAP_FAILED)
    bytes = UnsafeMutableRawBufferPointer(start: pages, count: size)
    prime.fourcc = format.fourcc
    prime.width = UInt32(width)
    prime.height = UInt32(height)
    prime.num_objects = 1
    set { $0.size = UInt32(size) }
    va_prime_add_layer(&prime, format.drmFourcc)
    va_prime_add_plane(&prime, UInt32(offset), UInt32(stride))
    if format == .nv12 {
      va_prime_add_plane(&prime, UInt32(offset + stride * height), UInt32(stride))
    }
  }

  deinit {
    munmap(bytes.baseAddress, bytes.count)
    close(descriptor)
  }

  /// Changes what the descriptor says of its object.
  func set(_ change: (inout va_prime_object) -> Void) {
    var object = va_prime_object(&prime, 0)
    object.fd = descriptor
    change(&object)
    va_prime_set_object(&prime, 0, object)
  }

  /// A row of a plane.
  func row(_ row: Int, plane: UInt32 = 0) -> UnsafeMutableRawPointer {
    let layout = va_prime_plane(&prime, 0, plane)
    return bytes.baseAddress! + Int(layout.offset) + row * Int(layout.pitch)
  }

  /// Makes a surface of it.
  func surface(
    on display: DriverDisplay, _ format: SurfaceFormat, width: Int? = nil
  ) throws -> VASurfaceID {
    var id = VASurfaceID()
    try withUnsafeMutablePointer(to: &prime) { prime in
      var attributes = [
        settable(VASurfaceAttribPixelFormat, Int32(bitPattern: format.fourcc)),
        settable(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
        VASurfaceAttrib(),
      ]
      attributes[2].type = VASurfaceAttribExternalBufferDescriptor
      attributes[2].flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
      attributes[2].value.type = VAGenericValueTypePointer
      attributes[2].value.value.p = UnsafeMutableRawPointer(prime)
      try check(
        vaCreateSurfaces(
          display.display, format.renderTargetFormat, UInt32(width ?? Int(prime.pointee.width)),
          prime.pointee.height, &id, 1, &attributes, 3))
    }
    return id
  }
}

/// An attribute of `vaCreateSurfaces` with a number as its value.
func settable(_ type: VASurfaceAttribType, _ value: Int32) -> VASurfaceAttrib {
  var attribute = VASurfaceAttrib()
  attribute.type = type
  attribute.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
  attribute.value.type = VAGenericValueTypeInteger
  attribute.value.value.i = value
  return attribute
}
