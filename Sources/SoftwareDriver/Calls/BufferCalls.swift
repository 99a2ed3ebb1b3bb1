internal import CVA

/// Buffers: parameters in, coded bytes out.
func installBufferCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaCreateBuffer = { context, owner, type, size, count, data, id in
    unsafe answer(context, "vaCreateBuffer") { driver throws(DriverError) in
      if driver.processors[owner] != nil {
        guard type == VAProcPipelineParameterBufferType else { throw .unsupportedBuffer }
      } else {
        guard driver.contexts[owner] != nil else { throw .invalidContext }
        try checkBufferType(type)
      }
      let buffer = try driver.pool.take(
        type: type, elementSize: Int(size), elementCount: Int(count))
      if let data = unsafe data {
        unsafe buffer.storage.base.copyMemory(from: data, byteCount: buffer.byteCount)
      }
      guard let new = driver.buffers.insert(buffer) else { throw .allocationFailed }
      unsafe id?.pointee = new
    }
  }
  unsafe table.pointee.vaBufferSetNumElements = { context, id, count in
    unsafe answer(context, "vaBufferSetNumElements") { driver throws(DriverError) in
      guard let buffer = driver.buffers[id] else { throw .invalidBuffer }
      try buffer.setElementCount(Int(count))
    }
  }
  unsafe table.pointee.vaMapBuffer = { context, id, data in
    // A picture under way is waited for.
    let status = unsafe wait(context, nil) { $0.buffers[id]?.readyAt ?? 0 }
    guard status == VA_STATUS_SUCCESS else { return status }
    return unsafe answer(context, "vaMapBuffer") { driver throws(DriverError) in
      guard let buffer = driver.buffers[id], !buffer.isMapped else { throw .invalidBuffer }
      if buffer.type == VAEncCodedBufferType {
        unsafe data?.pointee = UnsafeMutableRawPointer(buffer.segments.first)
      } else {
        try buffer.surface?.checkIdle()
        try buffer.surface?.settle()
        unsafe data?.pointee = try buffer.hold()
      }
      buffer.isMapped = true
      buffer.surface?.isReference = false
    }
  }
  unsafe table.pointee.vaUnmapBuffer = { context, id in
    unsafe answer(context, "vaUnmapBuffer") { driver throws(DriverError) in
      guard let buffer = driver.buffers[id], buffer.isMapped else { throw .invalidBuffer }
      buffer.isMapped = false
      buffer.release()
    }
  }
  unsafe table.pointee.vaDestroyBuffer = { context, id in
    unsafe answer(context, "vaDestroyBuffer") { driver throws(DriverError) in
      guard let buffer = driver.buffers.remove(id) else { throw .invalidBuffer }
      driver.pool.give(buffer)
    }
  }
  unsafe table.pointee.vaBufferInfo = { context, id, type, size, count in
    unsafe answer(context, "vaBufferInfo") { driver throws(DriverError) in
      guard let buffer = driver.buffers[id] else { throw .invalidBuffer }
      unsafe type?.pointee = buffer.type
      unsafe size?.pointee = UInt32(buffer.elementSize)
      unsafe count?.pointee = UInt32(buffer.elementCount)
    }
  }
  unsafe table.pointee.vaSyncBuffer = { context, id, timeout in
    unsafe wait(context, "vaSyncBuffer", nanoseconds: timeout) { driver throws(DriverError) in
      guard let buffer = driver.buffers[id] else { throw .invalidBuffer }
      return buffer.readyAt
    }
  }
}

private func checkBufferType(_ type: VABufferType) throws(DriverError) {
  switch type {
  case VAEncCodedBufferType, VAEncSequenceParameterBufferType, VAEncPictureParameterBufferType,
    VAEncSliceParameterBufferType, VAEncMiscParameterBufferType,
    VAEncPackedHeaderParameterBufferType, VAEncPackedHeaderDataBufferType:
    return
  default:
    throw .unsupportedBuffer
  }
}
