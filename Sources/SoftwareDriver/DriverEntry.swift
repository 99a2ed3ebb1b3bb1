package import CVA
internal import Synchronization

/// Fills in the driver context of a new display, as libva asks of `__vaDriverInit_1_0`.
///
/// The driver object lives until `vaTerminate`; the tables belong to libva.
package func initializeDriver(_ context: VADriverContextP?) -> VAStatus {
  guard let options = DriverOptions.fromEnvironment() else {
    return VA_STATUS_ERROR_INVALID_PARAMETER
  }
  return unsafe initializeDriver(context, options: options)
}

func initializeDriver(_ context: VADriverContextP?, options: DriverOptions) -> VAStatus {
  guard let context = unsafe context, let table = unsafe context.pointee.vtable else {
    return VA_STATUS_ERROR_INVALID_DISPLAY
  }
  let driver = Driver(options: options)
  unsafe context.pointee.pDriverData = Unmanaged.passRetained(driver).toOpaque()
  unsafe context.pointee.str_vendor = UnsafePointer(driver.vendor.pointer)
  unsafe context.pointee.version_major = VA_MAJOR_VERSION
  unsafe context.pointee.version_minor = VA_MINOR_VERSION
  unsafe context.pointee.max_profiles = Int32(EncodeConfig.profiles.count + 1)
  unsafe context.pointee.max_entrypoints = 2
  unsafe context.pointee.max_attributes = 32
  unsafe context.pointee.max_image_formats = Int32(SurfaceFormat.allCases.count)
  unsafe context.pointee.max_subpic_formats = 1
  unsafe context.pointee.max_display_attributes = 1
  unsafe installTerminate(in: table)
  unsafe installConfigCalls(in: table)
  unsafe installSurfaceCalls(in: table)
  unsafe installBufferCalls(in: table)
  unsafe installImageCalls(in: table)
  unsafe installPictureCalls(in: table)
  unsafe installRefusals(in: table)
  if driver.personality.processing != nil, let table = unsafe context.pointee.vtable_vpp {
    unsafe installProcessCalls(in: table)
  }
  if !driver.personality.hasSyncBuffer { unsafe table.pointee.vaSyncBuffer = nil }
  if !driver.personality.hasSyncSurface2 { unsafe table.pointee.vaSyncSurface2 = nil }
  return VA_STATUS_SUCCESS
}

/// Finds the driver behind a context and runs one call in it; a refusal's reason goes where the client
/// takes libva's messages.
func answer(
  _ context: VADriverContextP?, _ name: StaticString?,
  _ call: (Driver) throws(DriverError) -> Void
) -> VAStatus {
  guard let context = unsafe context, let data = unsafe context.pointee.pDriverData else {
    return VA_STATUS_ERROR_INVALID_DISPLAY
  }
  let driver = unsafe Unmanaged<Driver>.fromOpaque(data).takeUnretainedValue()
  guard let refusal = driver.exclusively(name, call) else { return VA_STATUS_SUCCESS }
  if let reason = refusal.reason { unsafe tell(context, "\(name ?? "driver"): \(reason)\n") }
  return refusal.status
}

/// Runs a call that finds out when something is ready, then waits for that outside the lock, at most
/// `nanoseconds`.
func wait(
  _ context: VADriverContextP?, _ name: StaticString?, nanoseconds: UInt64 = .max,
  _ find: (Driver) throws(DriverError) -> UInt64
) -> VAStatus {
  var readyAt: UInt64 = 0
  let status = unsafe answer(context, name) { driver throws(DriverError) in
    readyAt = try find(driver)
  }
  guard status == VA_STATUS_SUCCESS, readyAt > 0 else { return status }
  let now = steadyNanoseconds()
  let (limit, isForever) = now.addingReportingOverflow(nanoseconds)
  sleep(until: isForever ? readyAt : min(readyAt, limit))
  return isForever || readyAt <= limit ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_TIMEDOUT
}

private func tell(_ context: VADriverContextP, _ message: String) {
  let display = unsafe context.pointee.pDisplayContext?.assumingMemoryBound(
    to: VADisplayContext.self)
  guard let display = unsafe display, let callback = unsafe display.pointee.error_callback else {
    return
  }
  unsafe message.withCString { text in
    unsafe callback(display.pointee.error_callback_user_context, text)
  }
}

private func installTerminate(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaTerminate = { context in
    guard let data = unsafe context?.pointee.pDriverData else {
      return VA_STATUS_ERROR_INVALID_DISPLAY
    }
    unsafe context?.pointee.pDriverData = nil
    let driver = unsafe Unmanaged<Driver>.fromOpaque(data)
    let path = unsafe driver.takeUnretainedValue().options.leakPath
    let objects = unsafe driver.takeUnretainedValue().heldObjects
    unsafe driver.release()
    if let path {
      let descriptors = SharedFile.openCount.load(ordering: .relaxed)
      append(line: "\(objects), \(descriptors) descriptors", to: path)
    }
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
