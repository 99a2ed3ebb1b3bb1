internal import CVA

/// Contexts, and the three calls of a picture. It is made before `vaEndPicture` returns.
func installPictureCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaCreateContext = { context, config, width, height, _, targets, count, id in
    unsafe answer(context, "vaCreateContext") { driver throws(DriverError) in
      for index in 0..<Int(max(count, 0)) {
        guard let target = unsafe targets?[index], driver.surfaces[target] != nil else {
          throw .invalidSurface
        }
      }
      let new: UInt32?
      if let config = driver.configs[config] {
        new = driver.contexts.insert(
          try EncodeContext(config: config, width: Int(width), height: Int(height)))
      } else {
        guard driver.processConfigs[config] != nil else { throw .invalidConfig }
        new = driver.processors.insert(ProcessContext())
      }
      guard let new else { throw .allocationFailed }
      unsafe id?.pointee = new
    }
  }
  unsafe table.pointee.vaDestroyContext = { context, id in
    unsafe answer(context, "vaDestroyContext") { driver throws(DriverError) in
      guard driver.contexts.remove(id) != nil || driver.processors.remove(id) != nil else {
        throw .invalidContext
      }
    }
  }
  unsafe table.pointee.vaBeginPicture = { context, id, target in
    unsafe answer(context, "vaBeginPicture") { driver throws(DriverError) in
      let encode = driver.contexts[id]
      let process = driver.processors[id]
      guard encode != nil || process != nil else { throw .invalidContext }
      guard let surface = driver.surfaces[target] else { throw .invalidSurface }
      guard encode?.target == nil, process?.target == nil else {
        throw .operationFailed.because("a picture begun before the last one was ended")
      }
      encode?.request.clear()
      encode?.target = surface
      process?.request = nil
      process?.target = surface
    }
  }
  unsafe table.pointee.vaRenderPicture = { context, id, ids, count in
    unsafe answer(context, "vaRenderPicture") { driver throws(DriverError) in
      let encode = driver.contexts[id]
      let process = driver.processors[id]
      guard encode != nil || process != nil else { throw .invalidContext }
      guard encode?.target != nil || process?.target != nil else {
        throw .operationFailed.because("buffers rendered outside a picture")
      }
      for index in 0..<Int(max(count, 0)) {
        guard let bufferID = unsafe ids?[index], let buffer = driver.buffers[bufferID] else {
          throw .invalidBuffer
        }
        try encode?.take(buffer)
        if let process { try driver.take(buffer, for: process) }
      }
    }
  }
  unsafe table.pointee.vaEndPicture = { context, id in
    unsafe answer(context, nil) { driver throws(DriverError) in
      if let process = driver.processors[id] { return try driver.end(process) }
      guard let encode = driver.contexts[id] else { throw .invalidContext }
      guard let target = encode.target else { throw .operationFailed }
      // The picture is over whatever comes of it.
      encode.target = nil
      try driver.faults.count("vaEndPicture")
      try driver.encodePicture(in: encode, source: target)
    }
  }
}

extension Driver {
  /// Reads what the video processor is to do.
  fileprivate func take(
    _ buffer: DriverBuffer, for process: ProcessContext
  ) throws(DriverError) {
    guard buffer.type == VAProcPipelineParameterBufferType else { throw .unsupportedBuffer }
    let pipeline = unsafe try buffer.value(as: VAProcPipelineParameterBuffer.self)
    guard let source = unsafe surfaces[pipeline.surface], let target = process.target,
      let ability = personality.processing
    else { throw .invalidSurface }
    guard process.request == nil else {
      throw .unimplemented.because("several sources for one picture")
    }
    let job = try unsafe ProcessJob(pipeline, from: source, to: target, by: ability)
    process.request = (job, source)
  }

  fileprivate func end(_ process: ProcessContext) throws(DriverError) {
    guard let target = process.target else { throw .operationFailed }
    let request = process.request
    process.target = nil
    process.request = nil
    try faults.count("vaEndPicture")
    guard let request else {
      throw .invalidParameter.because("a picture without pipeline parameters")
    }
    try target.prepareWriting()
    try request.source.settle()
    guard personality.processing?.isLate != true else {
      target.pending = Surface.PendingProcess(
        processor: process, job: request.job, source: request.source)
      return
    }
    try process.process(request.job, from: request.source, to: target)
    guard options.delayNanoseconds > 0 else { return }
    target.readyAt = steadyNanoseconds() + options.delayNanoseconds
    request.source.readyAt = target.readyAt
  }
}
