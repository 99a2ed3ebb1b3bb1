internal import CVA
internal import Glibc

/// What a client asks of the surfaces it makes: the attributes of `vaCreateSurfaces`.
@safe struct SurfaceRequest {
  private let width: Int
  private let height: Int
  private let renderTargetFormat: UInt32
  private var format: SurfaceFormat?
  private var isImported = false
  private var descriptor: UnsafeMutableRawPointer?

  init(width: Int, height: Int, renderTargetFormat: UInt32) {
    self.width = width
    self.height = height
    self.renderTargetFormat = renderTargetFormat
    unsafe descriptor = nil
  }

  /// Takes one attribute; what this driver does not have is refused.
  mutating func take(
    _ attribute: VASurfaceAttrib, personality: Personality
  ) throws(DriverError) {
    guard unsafe attribute.flags & UInt32(VA_SURFACE_ATTRIB_SETTABLE) != 0 else { return }
    switch unsafe attribute.type {
    case VASurfaceAttribPixelFormat:
      let fourcc = unsafe UInt32(bitPattern: attribute.value.value.i)
      guard let format = SurfaceFormat(fourcc: fourcc) else {
        throw .unsupportedFormat.because(
          "a pixel format that is not VA_FOURCC_NV12, BGRX, BGRA, RGBX or RGBA")
      }
      self.format = format
    case VASurfaceAttribMemoryType:
      switch unsafe UInt32(bitPattern: attribute.value.value.i) {
      case UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_VA): isImported = false
      case UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) where personality.imports != nil:
        isImported = true
      default: throw .unsupportedMemory
      }
    case VASurfaceAttribExternalBufferDescriptor:
      unsafe descriptor = attribute.value.value.p
    case VASurfaceAttribDRMFormatModifiers:
      let list = unsafe attribute.value.value.p?.assumingMemoryBound(
        to: VADRMFormatModifierList.self)
      guard let list = unsafe list?.pointee else { throw .invalidParameter }
      let modifiers = unsafe UnsafeBufferPointer(
        start: list.modifiers, count: Int(list.num_modifiers))
      guard unsafe modifiers.contains(DRMModifier.linear) else {
        throw .unsupportedFormat.because("surfaces are linear, which is not among the modifiers")
      }
    case VASurfaceAttribUsageHint:
      break
    default:
      throw .attributeNotSupported
    }
  }

  /// Makes the next surface; an imported one of the `index`-th descriptor.
  func makeSurface(_ index: Int, options: DriverOptions) throws(DriverError) -> Surface {
    guard let format = format ?? SurfaceFormat(renderTargetFormat: renderTargetFormat),
      renderTargetFormat & format.renderTargetFormat != 0
    else { throw .unsupportedFormat.because("a pixel format of another render target format") }
    guard isImported else {
      return try Surface(
        format: format, width: width, height: height, keptByteCount: options.keptByteCount)
    }
    guard let descriptor = unsafe descriptor, let imports = options.personality.imports else {
      throw .invalidParameter.because("an import without its descriptor")
    }
    let primes = unsafe descriptor.assumingMemoryBound(to: VADRMPRIMESurfaceDescriptor.self)
    return unsafe try Surface(
      importing: primes + index, as: format, width: width, height: height, by: imports)
  }
}
