import CVA
import Glibc

/// libva puts `_drv_video` behind a name to make the module's file name.
private enum DriverName {
  /// The driver, with all that it needs.
  static let whole = "libporthole"
  /// A door to the one that a program has inside.
  static let inner = "libporthole_inner"

  /// The one whose module can be loaded from `folder` into this program. A program has the driver inside
  /// when others can find it there; of our builds that is the release.
  static func fitting(folder: String) -> String {
    guard unsafe dlsym(nil, "porthole_driver_init") != nil else { return whole }
    return unsafe access(module(inner, in: folder), R_OK) == 0 ? inner : whole
  }

  static func module(_ name: String, in folder: String) -> String {
    "\(folder)/\(name)_drv_video.so"
  }
}

extension Display {
  /// A display without any device behind it, on which libva loads our driver whatever
  /// `LIBVA_DRIVER_NAME` says.
  static func softwareDisplay(driverFolder: String) throws(VAError) -> Display {
    let driverName = DriverName.fitting(folder: driverFolder)
    let module = DriverName.module(driverName, in: driverFolder)
    guard unsafe access(module, R_OK) == 0 else {
      throw .unavailable("--va-display none needs the software driver, and there is no \(module)")
    }
    guard let handle = unsafe newDevicelessDisplay() else {
      throw .failed(call: "va_newDisplayContext", status: VA_STATUS_ERROR_ALLOCATION_FAILED)
    }
    // Only the first time: another thread may be reading the environment.
    let known = unsafe getenv("LIBVA_DRIVERS_PATH").map { unsafe String(cString: $0) }
    if known != driverFolder { unsafe setenv("LIBVA_DRIVERS_PATH", driverFolder, 1) }
    var name = Array(driverName.utf8CString)
    let status = unsafe name.withUnsafeMutableBufferPointer { name in
      unsafe vaSetDriverName(handle, name.baseAddress)
    }
    if status != VA_STATUS_SUCCESS {
      unsafe vaTerminate(handle)
      throw .failed(call: "vaSetDriverName", status: status)
    }
    return try unsafe Display(taking: handle)
  }
}

/// What libva's display libraries build around a device, built around none. libva frees none of
/// its three parts by itself: the hook `destroy` does, which vaTerminate calls.
private func newDevicelessDisplay() -> VADisplay? {
  guard let display = unsafe va_newDisplayContext() else { return nil }
  guard let driver = unsafe va_newDriverContext(display),
    let state = unsafe calloc(1, MemoryLayout<drm_state>.size)
  else { return nil }
  unsafe state.bindMemory(to: drm_state.self, capacity: 1).pointee.fd = -1
  unsafe driver.pointee.display_type = UInt(VA_DISPLAY_DRM_RENDERNODES)
  unsafe driver.pointee.drm_state = state
  unsafe display.pointee.vaIsValid = isValid
  unsafe display.pointee.vaDestroy = destroy
  unsafe display.pointee.vaGetNumCandidates = countDrivers
  unsafe display.pointee.vaGetDriverNameByIndex = nameDriver
  // libva 2.20 and later ask by one hook for all names; older headers count it as reserved.
  let names: @convention(c) (VADisplayContextP?, Names?, UnsafeMutablePointer<UInt32>?) -> VAStatus
  unsafe names = nameDrivers
  unsafe display.pointee.reserved.0 = unsafeBitCast(names, to: UInt.self)
  return VADisplay(display)
}

private typealias Names = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

private func isValid(_ display: VADisplayContextP?) -> Int32 { 1 }

private func destroy(_ display: VADisplayContextP?) {
  guard let display = unsafe display else { return }
  unsafe free(display.pointee.pDriverContext.pointee.drm_state)
  unsafe free(display.pointee.pDriverContext)
  unsafe free(display)
}

private func countDrivers(
  _ display: VADisplayContextP?, count: UnsafeMutablePointer<Int32>?
) -> VAStatus {
  unsafe count?.pointee = 1
  return VA_STATUS_SUCCESS
}

/// libva frees the name.
private func nameDriver(_ display: VADisplayContextP?, name: Names?, index: Int32) -> VAStatus {
  unsafe name?.pointee = strdup(DriverName.whole)
  return VA_STATUS_SUCCESS
}

private func nameDrivers(
  _ display: VADisplayContextP?, names: Names?, count: UnsafeMutablePointer<UInt32>?
) -> VAStatus {
  unsafe names?.pointee = strdup(DriverName.whole)
  unsafe count?.pointee = 1
  return VA_STATUS_SUCCESS
}
