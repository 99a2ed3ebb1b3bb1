import CVA

/// An NV12 picture in the driver's memory, destroyed with its owner.
package struct Surface: ~Copyable {
  let display: Display
  let id: VASurfaceID

  /// `width` and `height` in luma samples: multiples of 16 for anything that an encoder touches.
  package init(on display: Display, width: Int, height: Int) throws(VAError) {
    var format = unsafe VASurfaceAttrib()
    unsafe format.type = VASurfaceAttribPixelFormat
    unsafe format.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
    unsafe format.value.type = VAGenericValueTypeInteger
    unsafe format.value.value.i = Int32(bitPattern: nv12)
    var id: VASurfaceID = 0
    try unsafe check(
      vaCreateSurfaces(
        display.handle, UInt32(VA_RT_FORMAT_YUV420), UInt32(width), UInt32(height), &id, 1,
        &format, 1),
      "vaCreateSurfaces")
    self.display = display
    self.id = id
  }

  deinit {
    var id = id
    unsafe vaDestroySurfaces(display.handle, &id, 1)
  }

  /// Waits until nothing works on the surface any more.
  package borrowing func sync() throws(VAError) {
    try unsafe check(vaSyncSurface(display.handle, id), "vaSyncSurface")
  }
}

/// VA_FOURCC_NV12, which is a macro that does not import.
let nv12: UInt32 = 0x3231_564E
