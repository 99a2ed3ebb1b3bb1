internal import CVA
internal import Glibc

extension Driver {
  /// Checks what was rendered, codes the picture and fills the coded buffer.
  func encodePicture(in context: EncodeContext, source: Surface) throws(DriverError) {
    let checked = try CheckedPicture(context: context, source: source, in: self)
    try checked.checkAgreement(of: context)
    let buffer = checked.codedBuffer
    unsafe buffer.segment.pointee = VACodedBufferSegment()
    unsafe buffer.segment.pointee.buf = buffer.storage.base
    checked.reconstruction.isReference = false
    let job = try checked.open(context.windows)
    defer { checked.close(context.windows) }
    var sink = unsafe BitSink(
      start: buffer.storage.base.assumingMemoryBound(to: UInt8.self), capacity: buffer.byteCount)
    try checked.writeHeaders(of: context, into: &sink)
    context.encoder.lastSerial = lastSerial
    defer { lastSerial = context.encoder.lastSerial }
    var meanQP = job.sliceQP
    switch mode {
    case .lossless:
      guard job.sliceQP <= PictureEncoder.largestLosslessQP || job.deblocking == nil else {
        throw .invalidParameter
      }
      context.encoder.encodeLossless(job, into: &sink)
    case .lossy:
      meanQP = context.encodeLossy(job, into: &sink)
    }
    sink.endUnit()
    guard !sink.hasOverflowed else {
      unsafe buffer.segment.pointee.status = UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK)
      throw .notEnoughBuffer
    }
    unsafe buffer.segment.pointee.size = UInt32(sink.byteCount)
    unsafe buffer.segment.pointee.status = UInt32(meanQP)
    checked.reconstruction.isReference = true
  }
}

extension EncodeContext {
  /// Codes a picture by the config's rate control. Answers its mean QP.
  fileprivate func encodeLossy(_ job: PictureJob, into sink: inout BitSink) -> Int {
    encoder.hashSource(of: job)
    let load = encoder.measureLoad(of: job)
    encoder.scoutMotion(job, load)
    guard config.rateControl != UInt32(VA_RC_CQP), rateControl.current.peakBitsPerSecond > 0 else {
      var plan = PicturePlan(constantQP: job.sliceQP)
      encoder.encodeLossy(job, plan: &plan, into: &sink)
      return job.sliceQP
    }
    let isIntra = job.reference == nil
    let headers = sink
    let first = rateControl.plan(load, isIntra: isIntra, at: steadyNanoseconds())
    var plan = first
    encoder.encodeLossy(job, plan: &plan, into: &sink)
    // A picture that the coded buffer cannot hold, or a keyframe that the decoder's cannot, is coded
    // again, six QP coarser.
    var next = first.coarser()
    while sink.hasOverflowed || (isIntra && sink.bitCount - headers.bitCount > plan.hardBits),
      let coarser = next
    {
      sink = headers
      plan = coarser
      encoder.encodeLossy(job, plan: &plan, into: &sink)
      next = coarser.coarser()
    }
    rateControl.account(
      bits: sink.bitCount, changedBits: plan.changedBits, load, meanQP: plan.meanQP,
      isIntra: isIntra)
    return Int(plan.meanQP.rounded())
  }
}

/// The monotonic clock, in nanoseconds.
private func steadyNanoseconds() -> UInt64 {
  var now = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
