internal import CVA
internal import Glibc

/// DRM_FORMAT_MOD_*.
enum DRMModifier {
  static let linear: UInt64 = 0
  /// Nobody says how the pixels lie: linear, where no device is involved.
  static let invalid: UInt64 = (1 << 56) - 1
}

extension Surface {
  /// A surface in the memory that a client's descriptor names. Its descriptors stay the client's.
  @unsafe convenience init(
    importing prime: UnsafePointer<VADRMPRIMESurfaceDescriptor>, as format: SurfaceFormat,
    width: Int, height: Int, by imports: Personality.Imports
  ) throws(DriverError) {
    let head = unsafe prime.pointee
    guard head.fourcc == format.fourcc else {
      throw .invalidParameter.because(
        SurfaceFormat.allCases.contains { $0.drmFourcc == head.fourcc } && format != .nv12
          ? "a DRM fourcc in the place of libva's" : "a descriptor of another format")
    }
    guard Int(head.width) >= width, Int(head.height) >= height else {
      throw .invalidParameter.because("a descriptor of a smaller picture")
    }
    guard (1...4).contains(head.num_objects), (1...4).contains(head.num_layers) else {
      throw .invalidParameter.because("a descriptor without objects or layers")
    }
    let planes = try unsafe PrimePlanes(prime, of: format)
    let object = unsafe va_prime_object(prime, planes.object)
    guard object.modifier == DRMModifier.invalid || imports.modifiers.contains(object.modifier)
    else { throw .unsupportedFormat.because("a modifier that is not imported") }
    let layout = try SurfaceLayout(
      format: format, width: width, height: height, stride: planes.stride, offset: planes.offset,
      chromaOffset: planes.chromaOffset)
    guard object.size == 0 || layout.byteCount <= Int(object.size) else {
      throw .invalidParameter.because("a plane beyond the end of its object")
    }
    let file = try SharedFile(of: object.fd, byteCount: layout.byteCount)
    try self.init(layout: layout, in: file)
  }

  /// Fills in a descriptor of the surface, with a descriptor of its file that the client closes.
  @unsafe func export(
    to prime: UnsafeMutablePointer<VADRMPRIMESurfaceDescriptor>, inSeparateLayers: Bool
  ) throws(DriverError) {
    let own = fcntl(pixels.file.descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { throw .allocationFailed }
    unsafe prime.initialize(to: VADRMPRIMESurfaceDescriptor())
    unsafe prime.pointee.fourcc = layout.format.fourcc
    unsafe prime.pointee.width = UInt32(width)
    unsafe prime.pointee.height = UInt32(height)
    unsafe prime.pointee.num_objects = 1
    unsafe va_prime_set_object(
      prime, 0,
      va_prime_object(
        fd: own, size: UInt32(wholePages(layout.byteCount)), modifier: DRMModifier.linear))
    let offsets = layout.format == .nv12 ? [layout.offset, layout.chromaOffset] : [layout.offset]
    if !inSeparateLayers { unsafe va_prime_add_layer(prime, layout.format.drmFourcc) }
    for (offset, drmFourcc) in zip(offsets, layout.format.drmPlanes) {
      if inSeparateLayers { unsafe va_prime_add_layer(prime, drmFourcc) }
      unsafe va_prime_add_plane(prime, UInt32(offset), UInt32(layout.stride))
    }
  }
}

/// Where a descriptor says that the planes lie: in one layer, or in one for each.
private struct PrimePlanes {
  let object: UInt32
  let offset: Int
  let stride: Int
  let chromaOffset: Int

  @unsafe init(
    _ prime: UnsafePointer<VADRMPRIMESurfaceDescriptor>, of format: SurfaceFormat
  ) throws(DriverError) {
    let wanted = format.drmPlanes
    var planes: [va_prime_plane] = []
    for layer in unsafe 0..<prime.pointee.num_layers {
      let count = unsafe va_prime_plane_count(prime, layer)
      let drmFourcc = unsafe va_prime_layer_format(prime, layer)
      let isWhole = unsafe prime.pointee.num_layers == 1 && drmFourcc == format.drmFourcc
      let isOwn = planes.count < wanted.count && drmFourcc == wanted[planes.count]
      guard (1...4).contains(count), isWhole || isOwn && count == 1 else {
        throw .invalidParameter.because("a layer of another DRM format, or without planes")
      }
      for plane in 0..<count { planes.append(unsafe va_prime_plane(prime, layer, plane)) }
    }
    // Planes of control data behind the pixels' own say nothing about linear pixels.
    guard planes.count >= wanted.count else {
      throw .invalidParameter.because("a plane is missing")
    }
    let first = planes[0]
    let last = planes[wanted.count - 1]
    guard unsafe first.object < prime.pointee.num_objects, last.object == first.object,
      last.pitch == first.pitch
    else { throw .invalidParameter.because("planes in several objects, or of several pitches") }
    object = first.object
    offset = Int(first.offset)
    stride = Int(first.pitch)
    chromaOffset = Int(last.offset)
  }
}
