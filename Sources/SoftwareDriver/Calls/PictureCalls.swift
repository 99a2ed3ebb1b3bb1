internal import CVA

/// Contexts, and the three calls of a picture. The picture is coded before `vaEndPicture` returns.
func installPictureCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaCreateContext = { context, config, width, height, _, targets, count, id in
    unsafe answer(context, "vaCreateContext") { driver throws(DriverError) in
      guard let config = driver.configs[config] else { throw .invalidConfig }
      for index in 0..<Int(max(count, 0)) {
        guard let target = unsafe targets?[index], driver.surfaces[target] != nil else {
          throw .invalidSurface
        }
      }
      let new = try EncodeContext(config: config, width: Int(width), height: Int(height))
      guard let newID = driver.contexts.insert(new) else { throw .allocationFailed }
      unsafe id?.pointee = newID
    }
  }
  unsafe table.pointee.vaDestroyContext = { context, id in
    unsafe answer(context, "vaDestroyContext") { driver throws(DriverError) in
      guard driver.contexts.remove(id) != nil else { throw .invalidContext }
    }
  }
  unsafe table.pointee.vaBeginPicture = { context, id, target in
    unsafe answer(context, "vaBeginPicture") { driver throws(DriverError) in
      guard let encode = driver.contexts[id] else { throw .invalidContext }
      guard let surface = driver.surfaces[target] else { throw .invalidSurface }
      guard encode.target == nil else { throw .operationFailed }
      encode.request.clear()
      encode.target = surface
    }
  }
  unsafe table.pointee.vaRenderPicture = { context, id, ids, count in
    unsafe answer(context, "vaRenderPicture") { driver throws(DriverError) in
      guard let encode = driver.contexts[id] else { throw .invalidContext }
      guard encode.target != nil else { throw .operationFailed }
      for index in 0..<Int(max(count, 0)) {
        guard let bufferID = unsafe ids?[index], let buffer = driver.buffers[bufferID] else {
          throw .invalidBuffer
        }
        try encode.take(buffer)
      }
    }
  }
  unsafe table.pointee.vaEndPicture = { context, id in
    unsafe answer(context, nil) { driver throws(DriverError) in
      guard let encode = driver.contexts[id] else { throw .invalidContext }
      guard let target = encode.target else { throw .operationFailed }
      // The picture is over whatever comes of it.
      encode.target = nil
      try driver.faults.count("vaEndPicture")
      try driver.encodePicture(in: encode, source: target)
    }
  }
}
