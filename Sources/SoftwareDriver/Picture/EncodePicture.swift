internal import CVA

extension Driver {
  /// Checks what was rendered, codes the picture and fills the coded buffer.
  func encodePicture(in context: EncodeContext, source: Surface) throws(DriverError) {
    let checked = try CheckedPicture(context: context, source: source, in: self)
    let buffer = checked.codedBuffer
    unsafe buffer.segment.pointee = VACodedBufferSegment()
    unsafe buffer.segment.pointee.buf = buffer.storage.base
    checked.reconstruction.isReference = false
    let job = try checked.job()
    var sink = unsafe BitSink(
      start: buffer.storage.base.assumingMemoryBound(to: UInt8.self), capacity: buffer.byteCount)
    try checked.writeHeaders(of: context, into: &sink)
    context.encoder.lastSerial = lastSerial
    defer { lastSerial = context.encoder.lastSerial }
    switch mode {
    case .lossless:
      guard job.sliceQP <= PictureEncoder.largestLosslessQP || job.deblocking == nil else {
        throw .invalidParameter
      }
      context.encoder.encodeLossless(job, into: &sink)
    case .lossy:
      context.encoder.hashSource(of: job)
      var plan = PicturePlan.constant(qp: job.sliceQP)
      context.encoder.encodeLossy(job, plan: &plan, into: &sink)
    }
    sink.endUnit()
    guard !sink.hasOverflowed else { throw .notEnoughBuffer }
    unsafe buffer.segment.pointee.size = UInt32(sink.byteCount)
    unsafe buffer.segment.pointee.status = UInt32(checked.sliceQP)
    checked.reconstruction.isReference = true
  }
}
