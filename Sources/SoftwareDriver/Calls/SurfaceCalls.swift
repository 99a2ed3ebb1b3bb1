internal import CVA

/// Surfaces: making, giving back, asking, waiting. Encoding is over when `vaEndPicture` returns, so
/// there is nothing to wait for but a delay that was asked for.
func installSurfaceCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaCreateSurfaces = { context, width, height, format, count, ids in
    unsafe answer(context, "vaCreateSurfaces") { driver throws(DriverError) in
      let request = SurfaceRequest(
        width: Int(width), height: Int(height),
        renderTargetFormat: UInt32(truncatingIfNeeded: format))
      unsafe try driver.createSurfaces(request, count: Int(count), ids: ids)
    }
  }
  unsafe table.pointee.vaCreateSurfaces2 = {
    context, format, width, height, ids, count, list, attributeCount in
    unsafe answer(context, "vaCreateSurfaces2") { driver throws(DriverError) in
      var request = SurfaceRequest(
        width: Int(width), height: Int(height), renderTargetFormat: format)
      for index in 0..<Int(attributeCount) {
        guard let attribute = unsafe list?[index] else { throw .invalidParameter }
        unsafe try request.take(attribute, personality: driver.personality)
      }
      unsafe try driver.createSurfaces(request, count: Int(count), ids: ids)
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
      let isProcessing = driver.processConfigs[config] != nil
      guard isProcessing || driver.configs[config] != nil else { throw .invalidConfig }
      guard let count = unsafe count else { throw .invalidParameter }
      let offered = unsafe driver.surfaceAttributes(
        formats: isProcessing ? SurfaceFormat.allCases : [.nv12])
      if let list = unsafe list {
        guard unsafe Int(count.pointee) >= offered.count else {
          unsafe count.pointee = UInt32(offered.count)
          throw .maxNumExceeded
        }
        for index in unsafe offered.indices { unsafe list[index] = offered[index] }
      }
      unsafe count.pointee = UInt32(offered.count)
    }
  }
  unsafe table.pointee.vaExportSurfaceHandle = { context, id, memoryType, flags, descriptor in
    unsafe answer(context, "vaExportSurfaceHandle") { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      guard memoryType == UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
        driver.personality.imports != nil
      else { throw .unsupportedMemory }
      guard let descriptor = unsafe descriptor else { throw .invalidParameter }
      let prime = unsafe descriptor.assumingMemoryBound(to: VADRMPRIMESurfaceDescriptor.self)
      try surface.settle()
      unsafe try surface.export(
        to: prime, inSeparateLayers: flags & UInt32(VA_EXPORT_SURFACE_SEPARATE_LAYERS) != 0)
      // Whoever has the handle may write through it, unseen.
      if flags & UInt32(VA_EXPORT_SURFACE_WRITE_ONLY) != 0 { surface.isReference = false }
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
    contexts.contains { $0.target === surface } || processors.contains { $0.target === surface }
  }

  fileprivate func createSurfaces(
    _ request: SurfaceRequest, count: Int, ids: UnsafeMutablePointer<VASurfaceID>?
  ) throws(DriverError) {
    guard let ids = unsafe ids, count > 0 else { throw .invalidParameter }
    for index in 0..<count {
      do throws(DriverError) {
        let surface = try request.makeSurface(index, options: options)
        guard let id = surfaces.insert(surface) else { throw .allocationFailed }
        unsafe ids[index] = id
      } catch {
        for made in 0..<index { _ = unsafe surfaces.remove(ids[made]) }
        throw error
      }
    }
  }

  /// What `vaQuerySurfaceAttributes` lists for surfaces of these formats.
  fileprivate func surfaceAttributes(formats: [SurfaceFormat]) -> [VASurfaceAttrib] {
    let readable = VA_SURFACE_ATTRIB_GETTABLE
    let settable = VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE
    let largest = Int32(EncodeConfig.largestSide)
    var memory = UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_VA)
    if personality.imports?.isListed == true {
      memory |= UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
    }
    var list = unsafe formats.map { format in
      unsafe attribute(VASurfaceAttribPixelFormat, settable, Int32(bitPattern: format.fourcc))
    }
    unsafe list += [
      attribute(VASurfaceAttribMinWidth, readable, 16),
      attribute(VASurfaceAttribMinHeight, readable, 16),
      attribute(VASurfaceAttribMaxWidth, readable, largest),
      attribute(VASurfaceAttribMaxHeight, readable, largest),
      attribute(VASurfaceAttribMemoryType, settable, Int32(bitPattern: memory)),
    ]
    var descriptor = unsafe attribute(
      VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE, 0)
    unsafe descriptor.value.type = VAGenericValueTypePointer
    unsafe descriptor.value.value.p = nil
    if personality.imports?.isListed == true { unsafe list.append(descriptor) }
    return unsafe list
  }

  private func attribute(
    _ type: VASurfaceAttribType, _ flags: Int32, _ value: Int32
  ) -> VASurfaceAttrib {
    var new = unsafe VASurfaceAttrib()
    unsafe new.type = type
    unsafe new.flags = UInt32(flags)
    unsafe new.value.type = VAGenericValueTypeInteger
    unsafe new.value.value.i = value
    return unsafe new
  }
}
