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
    context.encoder.encodeLossless(job, into: &sink)
    sink.endUnit()
    guard !sink.hasOverflowed else { throw .notEnoughBuffer }
    unsafe buffer.segment.pointee.size = UInt32(sink.byteCount)
    unsafe buffer.segment.pointee.status = UInt32(checked.sliceQP)
    checked.reconstruction.isReference = true
  }
}
