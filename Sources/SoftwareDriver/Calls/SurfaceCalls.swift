internal import CVA

/// Surfaces: making, giving back, asking, waiting. Encoding is over when `vaEndPicture` returns, so
/// there is nothing to wait for but a delay that was asked for.
func installSurfaceCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaCreateSurfaces = { context, width, height, format, count, ids in
    unsafe answer(context, "vaCreateSurfaces") { driver throws(DriverError) in
      unsafe try driver.createSurfaces(
        width: Int(width), height: Int(height), format: UInt32(truncatingIfNeeded: format),
        count: Int(count), ids: ids)
    }
  }
  unsafe table.pointee.vaCreateSurfaces2 = {
    context, format, width, height, ids, count, list, attributeCount in
    unsafe answer(context, "vaCreateSurfaces2") { driver throws(DriverError) in
      for index in 0..<Int(attributeCount) {
        guard let attribute = unsafe list?[index] else { throw .invalidParameter }
        unsafe try checkSurfaceAttribute(attribute)
      }
      unsafe try driver.createSurfaces(
        width: Int(width), height: Int(height), format: format, count: Int(count), ids: ids)
    }
  }
  unsafe table.pointee.vaDestroySurfaces = { context, ids, count in
    unsafe answer(context, "vaDestroySurfaces") { driver throws(DriverError) in
      for index in 0..<Int(max(count, 0)) {
        guard let id = unsafe ids?[index], let surface = driver.surfaces[id] else {
          throw .invalidSurface
        }
        guard surface.derivedImages == 0, !driver.isTarget(surface) else {
          throw .surfaceBusy.because("a surface given back while it is in use")
        }
        try surface.checkIdle()
        _ = driver.surfaces.remove(id)
      }
    }
  }
  unsafe table.pointee.vaQuerySurfaceAttributes = { context, config, list, count in
    unsafe answer(context, "vaQuerySurfaceAttributes") { driver throws(DriverError) in
      guard driver.configs[config] != nil else { throw .invalidConfig }
      guard let count = unsafe count else { throw .invalidParameter }
      let offered = unsafe surfaceAttributes()
      if let list = unsafe list {
        guard unsafe Int(count.pointee) >= offered.count else {
          unsafe count.pointee = UInt32(offered.count)
          throw DriverError(status: VA_STATUS_ERROR_MAX_NUM_EXCEEDED)
        }
        for index in unsafe offered.indices { unsafe list[index] = offered[index] }
      }
      unsafe count.pointee = UInt32(offered.count)
    }
  }
  unsafe table.pointee.vaSyncSurface = { context, id in
    unsafe wait(context, "vaSyncSurface") { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      return surface.readyAt
    }
  }
  unsafe table.pointee.vaSyncSurface2 = { context, id, timeout in
    unsafe wait(context, "vaSyncSurface2", nanoseconds: timeout) { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      return surface.readyAt
    }
  }
  unsafe table.pointee.vaQuerySurfaceStatus = { context, id, status in
    unsafe answer(context, "vaQuerySurfaceStatus") { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      unsafe status?.pointee = surface.isIdle ? VASurfaceReady : VASurfaceRendering
    }
  }
}

extension Driver {
  /// Whether a picture was begun on the surface and not ended.
  fileprivate func isTarget(_ surface: Surface) -> Bool {
    contexts.contains { $0.target === surface }
  }

  fileprivate func createSurfaces(
    width: Int, height: Int, format: UInt32, count: Int, ids: UnsafeMutablePointer<VASurfaceID>?
  ) throws(DriverError) {
    guard format & UInt32(VA_RT_FORMAT_YUV420) != 0 else { throw .unsupportedFormat }
    guard let ids = unsafe ids, count > 0 else { throw .invalidParameter }
    for index in 0..<count {
      do throws(DriverError) {
        let surface = try Surface(
          width: width, height: height, keptByteCount: options.keptByteCount)
        guard let id = surfaces.insert(surface) else { throw .allocationFailed }
        unsafe ids[index] = id
      } catch {
        for made in 0..<index { _ = unsafe surfaces.remove(ids[made]) }
        throw error
      }
    }
  }
}

/// Surfaces are NV12 in memory of our own; anything else a client sets is refused.
private func checkSurfaceAttribute(_ attribute: VASurfaceAttrib) throws(DriverError) {
  guard unsafe attribute.flags & UInt32(VA_SURFACE_ATTRIB_SETTABLE) != 0 else { return }
  switch unsafe attribute.type {
  case VASurfaceAttribPixelFormat:
    guard unsafe attribute.value.value.i == Int32(bitPattern: UInt32(VA_FOURCC_NV12)) else {
      throw .unsupportedFormat
    }
  case VASurfaceAttribMemoryType:
    guard unsafe attribute.value.value.i == Int32(VA_SURFACE_ATTRIB_MEM_TYPE_VA) else {
      throw .unsupportedMemory
    }
  case VASurfaceAttribUsageHint:
    break
  default:
    throw .attributeNotSupported
  }
}

private func surfaceAttributes() -> [VASurfaceAttrib] {
  func attribute(_ type: VASurfaceAttribType, _ flags: Int32, _ value: Int32) -> VASurfaceAttrib {
    var new = unsafe VASurfaceAttrib()
    unsafe new.type = type
    unsafe new.flags = UInt32(flags)
    unsafe new.value.type = VAGenericValueTypeInteger
    unsafe new.value.value.i = value
    return unsafe new
  }
  let settable = VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE
  let largest = Int32(EncodeConfig.largestSide)
  return unsafe [
    attribute(VASurfaceAttribPixelFormat, settable, Int32(VA_FOURCC_NV12)),
    attribute(VASurfaceAttribMinWidth, VA_SURFACE_ATTRIB_GETTABLE, 16),
    attribute(VASurfaceAttribMinHeight, VA_SURFACE_ATTRIB_GETTABLE, 16),
    attribute(VASurfaceAttribMaxWidth, VA_SURFACE_ATTRIB_GETTABLE, largest),
    attribute(VASurfaceAttribMaxHeight, VA_SURFACE_ATTRIB_GETTABLE, largest),
    attribute(VASurfaceAttribMemoryType, settable, VA_SURFACE_ATTRIB_MEM_TYPE_VA),
  ]
}
