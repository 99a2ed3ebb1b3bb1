import CVA
import Glibc

/// A picture of somebody else's that a driver reads where it lies; given back with its owner.
package struct ImportedSurface: ~Copyable {
  let display: Display
  let id: VASurfaceID

  /// The driver takes hold of the memory itself: `layout`'s descriptors may be closed afterwards.
  package init(on display: Display, _ layout: DMABufLayout) throws(VAError) {
    var descriptor = try layout.descriptor()
    var id: VASurfaceID = 0
    let status = unsafe withUnsafeMutablePointer(to: &descriptor) { descriptor in
      var attributes = unsafe [
        VASurfaceAttrib(
          VASurfaceAttribMemoryType,
          Int32(bitPattern: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2))),
        VASurfaceAttrib(VASurfaceAttribExternalBufferDescriptor, pointer: descriptor),
      ]
      return unsafe vaCreateSurfaces(
        display.handle, UInt32(VA_RT_FORMAT_RGB32), UInt32(layout.width), UInt32(layout.height),
        &id, 1, &attributes, UInt32(attributes.count))
    }
    try check(status, "vaCreateSurfaces")
    self.display = display
    self.id = id
  }

  deinit {
    var id = id
    unsafe vaDestroySurfaces(display.handle, &id, 1)
  }
}

extension VASurfaceAttrib {
  @unsafe init(_ type: VASurfaceAttribType, _ value: Int32) {
    unsafe self.init()
    unsafe self.type = type
    unsafe flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
    unsafe self.value.type = VAGenericValueTypeInteger
    unsafe self.value.value.i = value
  }

  @unsafe init(_ type: VASurfaceAttribType, pointer: UnsafeMutableRawPointer) {
    unsafe self.init()
    unsafe self.type = type
    unsafe flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
    unsafe value.type = VAGenericValueTypePointer
    unsafe value.value.p = pointer
  }
}

extension Display {
  /// The modifiers of RGB pictures that the driver imports and can convert, found by trying: what it
  /// says of itself is not believed. Empty where it imports nothing.
  package func importableModifiers() -> [UInt64] {
    guard (try? VideoProcessor(on: self, width: 64, height: 64)) != nil else { return [] }
    var found: [UInt64] = []
    for modifier in [nil] + DRMModifier.intel.map(Optional.some) {
      guard let own = exported(modifier: modifier) else { continue }
      if !found.contains(own) { found.append(own) }
    }
    // What imports anything imports rows, though not every driver would make a surface of them.
    if !found.isEmpty, !found.contains(DRMModifier.linear) { found.append(DRMModifier.linear) }
    return found
  }

  /// The modifier of a picture that the driver made (with this one, or with what it likes best), gave
  /// out and took back; nil when it does not do all of that.
  private func exported(modifier: UInt64?) -> UInt64? {
    var wanted = modifier ?? 0
    var id: VASurfaceID = 0
    let status = unsafe withUnsafeMutablePointer(to: &wanted) { wanted in
      var list = unsafe VADRMFormatModifierList(num_modifiers: 1, modifiers: wanted)
      return unsafe withUnsafeMutablePointer(to: &list) { list in
        var attributes = unsafe [
          VASurfaceAttrib(
            VASurfaceAttribPixelFormat, Int32(bitPattern: RGBFormat.bgrx.vaFourcc)),
          VASurfaceAttrib(VASurfaceAttribDRMFormatModifiers, pointer: list),
        ]
        return unsafe vaCreateSurfaces(
          handle, UInt32(VA_RT_FORMAT_RGB32), 64, 64, &id, 1, &attributes,
          modifier == nil ? 1 : 2)
      }
    }
    guard status == VA_STATUS_SUCCESS else { return nil }
    defer { unsafe vaDestroySurfaces(handle, &id, 1) }
    var descriptor = VADRMPRIMESurfaceDescriptor()
    let flags = UInt32(VA_EXPORT_SURFACE_READ_ONLY | VA_EXPORT_SURFACE_COMPOSED_LAYERS)
    guard
      unsafe vaExportSurfaceHandle(
        handle, id, UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2), flags, &descriptor)
        == VA_STATUS_SUCCESS
    else { return nil }
    // Whoever was given descriptors closes them.
    let fds = (0..<min(descriptor.num_objects, 4)).map {
      unsafe va_prime_object(&descriptor, $0).fd
    }
    defer { for fd in fds { close(fd) } }
    guard let layout = DMABufLayout(exported: descriptor),
      modifier == nil || layout.modifier == modifier,
      (try? ImportedSurface(on: self, layout)) != nil
    else { return nil }
    return layout.modifier
  }
}
