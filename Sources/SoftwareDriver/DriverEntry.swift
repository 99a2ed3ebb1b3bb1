package import CVA

/// Fills in the driver context of a new display, as libva asks of `__vaDriverInit_1_0`.
///
/// The driver object lives until `vaTerminate`; the tables belong to libva.
package func initializeDriver(_ context: VADriverContextP?) -> VAStatus {
  guard let mode = EncodeMode.fromEnvironment() else { return VA_STATUS_ERROR_INVALID_PARAMETER }
  return unsafe initializeDriver(context, mode: mode)
}

func initializeDriver(
  _ context: VADriverContextP?, mode: EncodeMode,
  keptByteCount: Int = SurfacePixels.keptByteCount
) -> VAStatus {
  guard let context = unsafe context, let table = unsafe context.pointee.vtable else {
    return VA_STATUS_ERROR_INVALID_DISPLAY
  }
  let driver = Driver(mode: mode, keptByteCount: keptByteCount)
  unsafe context.pointee.pDriverData = Unmanaged.passRetained(driver).toOpaque()
  unsafe context.pointee.str_vendor = UnsafePointer(driver.vendor.pointer)
  unsafe context.pointee.version_major = VA_MAJOR_VERSION
  unsafe context.pointee.version_minor = VA_MINOR_VERSION
  unsafe context.pointee.max_profiles = 1
  unsafe context.pointee.max_entrypoints = 1
  unsafe context.pointee.max_attributes = 32
  unsafe context.pointee.max_image_formats = 1
  unsafe context.pointee.max_subpic_formats = 1
  unsafe context.pointee.max_display_attributes = 1
  unsafe installTerminate(in: table)
  unsafe installConfigCalls(in: table)
  unsafe installSurfaceCalls(in: table)
  unsafe installBufferCalls(in: table)
  unsafe installImageCalls(in: table)
  unsafe installPictureCalls(in: table)
  unsafe installRefusals(in: table)
  return VA_STATUS_SUCCESS
}

/// Finds the driver behind a context and runs one call in it.
func answer(
  _ context: VADriverContextP?, _ call: (Driver) throws(DriverError) -> Void
) -> VAStatus {
  guard let data = unsafe context?.pointee.pDriverData else {
    return VA_STATUS_ERROR_INVALID_DISPLAY
  }
  return unsafe Unmanaged<Driver>.fromOpaque(data).takeUnretainedValue().exclusively(call)
}

private func installTerminate(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaTerminate = { context in
    guard let data = unsafe context?.pointee.pDriverData else {
      return VA_STATUS_ERROR_INVALID_DISPLAY
    }
    unsafe context?.pointee.pDriverData = nil
    unsafe Unmanaged<Driver>.fromOpaque(data).release()
    return VA_STATUS_SUCCESS
  }
}

/// What libva wants in the table and an encoder has not: subpictures, palettes, display attributes.
private func installRefusals(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaSetImagePalette = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaQuerySubpictureFormats = { _, _, _, count in
    unsafe count?.pointee = 0
    return VA_STATUS_SUCCESS
  }
  unsafe table.pointee.vaCreateSubpicture = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaDestroySubpicture = { _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaSetSubpictureImage = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaSetSubpictureChromakey = { _, _, _, _, _ in
    VA_STATUS_ERROR_UNIMPLEMENTED
  }
  unsafe table.pointee.vaSetSubpictureGlobalAlpha = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaAssociateSubpicture = { _, _, _, _, _, _, _, _, _, _, _, _, _ in
    VA_STATUS_ERROR_UNIMPLEMENTED
  }
  unsafe table.pointee.vaDeassociateSubpicture = { _, _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaQueryDisplayAttributes = { _, _, count in
    unsafe count?.pointee = 0
    return VA_STATUS_SUCCESS
  }
  unsafe table.pointee.vaGetDisplayAttributes = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
  unsafe table.pointee.vaSetDisplayAttributes = { _, _, _ in VA_STATUS_ERROR_UNIMPLEMENTED }
}
