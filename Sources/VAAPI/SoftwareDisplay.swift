import CVA
import Glibc

extension Display {
  /// libva puts `_drv_video.so` behind it to make the module's file name.
  private static let driverName = "libporthole"

  /// A display without any device behind it, on which libva loads our driver whatever
  /// `LIBVA_DRIVER_NAME` says.
  static func softwareDisplay(driverFolder: String) throws(VAError) -> Display {
    let module = "\(driverFolder)/\(driverName)_drv_video.so"
    guard unsafe access(module, R_OK) == 0 else {
      throw .unavailable("--va-display none needs the software driver, and there is no \(module)")
    }
    guard let handle = unsafe newDeviceless() else {
      throw .failed(call: "va_newDisplayContext", status: VA_STATUS_ERROR_ALLOCATION_FAILED)
    }
    unsafe setenv("LIBVA_DRIVERS_PATH", driverFolder, 1)
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

  /// What libva's display libraries build around a device, built around none.
  private static func newDeviceless() -> VADisplay? {
    guard let display = unsafe va_newDisplayContext() else { return nil }
    guard let driver = unsafe va_newDriverContext(display) else {
      unsafe free(display)
      return nil
    }
    // libva frees none of the three by itself: `destroy` does, which vaTerminate calls.
    let state = unsafe calloc(1, MemoryLayout<drm_state>.size)?.bindMemory(
      to: drm_state.self, capacity: 1)
    unsafe state?.pointee.fd = -1
    unsafe driver.pointee.native_dpy = nil
    unsafe driver.pointee.display_type = UInt(VA_DISPLAY_DRM_RENDERNODES)
    unsafe driver.pointee.drm_state = UnsafeMutableRawPointer(state)
    unsafe display.pointee.vaIsValid = { _ in 1 }
    unsafe display.pointee.vaDestroy = { display in
      guard let display = unsafe display else { return }
      unsafe free(display.pointee.pDriverContext.pointee.drm_state)
      unsafe free(display.pointee.pDriverContext)
      unsafe free(display)
    }
    unsafe display.pointee.vaGetNumCandidates = { _, count in
      unsafe count?.pointee = 1
      return VA_STATUS_SUCCESS
    }
    unsafe display.pointee.vaGetDriverNameByIndex = { _, name, _ in
      unsafe name?.pointee = strdup(driverName)
      return VA_STATUS_SUCCESS
    }
    // libva 2.20 and later ask by this hook, which older headers count as the first reserved word.
    let names:
      @convention(c) (VADisplayContextP?, Names?, UnsafeMutablePointer<UInt32>?) -> VAStatus
    unsafe names = { _, names, count in
      unsafe names?[0] = strdup(driverName)
      unsafe count?.pointee = 1
      return VA_STATUS_SUCCESS
    }
    unsafe display.pointee.reserved.0 = unsafeBitCast(names, to: UInt.self)
    return VADisplay(display)
  }

  private typealias Names = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
}
