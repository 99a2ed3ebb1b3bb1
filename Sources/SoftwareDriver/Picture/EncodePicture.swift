internal import CVA

extension Driver {
  /// Checks what was rendered, codes the picture and fills the coded buffer.
  func encodePicture(in context: EncodeContext, source: Surface) throws(DriverError) {
    try source.settle()
    let checked = try CheckedPicture(context: context, source: source, in: self)
    try checked.checkAgreement(of: context)
    let buffer = checked.codedBuffer
    buffer.segments.clear(buffer.storage)
    checked.reconstruction.isReference = false
    let job = try checked.open(context.windows)
    defer { checked.close(context.windows) }
    var sink = unsafe BitSink(
      start: buffer.storage.base.assumingMemoryBound(to: UInt8.self), capacity: buffer.byteCount)
    try checked.writeHeaders(of: context, into: &sink)
    context.encoder.lastSerial = lastSerial
    defer { lastSerial = context.encoder.lastSerial }
    context.encoder.padSource(
      of: job, width: checked.displayWidth, height: checked.displayHeight)
    var meanQP = job.sliceQP
    switch options.mode {
    case .lossless:
      guard job.sliceQP <= PictureEncoder.largestLosslessQP || job.deblocking == nil else {
        throw .invalidParameter.because("a QP at which lossless pictures would be deblocked")
      }
      context.encoder.encodeLossless(job, into: &sink)
    case .lossy:
      meanQP = context.encodeLossy(job, into: &sink)
    }
    try finish(checked, sink, meanQP: meanQP)
  }

  /// Puts what was coded where the client finds it.
  private func finish(
    _ checked: CheckedPicture, _ sink: borrowing BitSink, meanQP: Int
  ) throws(DriverError) {
    let buffer = checked.codedBuffer
    var status = UInt32(meanQP)
    if sink.hasOverflowed || faults.strike("overflow") != nil {
      status |= UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK)
    }
    if faults.strike("bad-bitstream") != nil { status |= UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM) }
    if personality.splitsSegments {
      buffer.segments.putUnits(sink.byteCount, of: buffer.storage, status: status)
    } else {
      buffer.segments.put(sink.byteCount, of: buffer.storage, status: status)
    }
    guard !sink.hasOverflowed else {
      if personality.overflowsByStatus { return }
      throw .notEnoughBuffer.because("a coded buffer that is too small")
    }
    checked.reconstruction.isReference = true
    checked.reconstruction.frameNum = UInt32(checked.picture.frame_num)
    try reconstructions?.append(
      checked.reconstruction, width: checked.displayWidth, height: checked.displayHeight)
    guard options.delayNanoseconds > 0 else { return }
    let readyAt = steadyNanoseconds() + options.delayNanoseconds
    buffer.readyAt = readyAt
    checked.source.readyAt = readyAt
    checked.reconstruction.readyAt = readyAt
  }
}

extension EncodeContext {
  /// Codes a picture by the config's rate control. Answers its mean QP.
  fileprivate func encodeLossy(_ job: PictureJob, into sink: inout BitSink) -> Int {
    encoder.hashSource(of: job)
    let load = encoder.measureLoad(of: job, best: rateControl.stillestQP)
    encoder.scoutMotion(job, load)
    let isConstant = config.rateControl & UInt32(VA_RC_CQP | VA_RC_ICQ) != 0
    guard !isConstant, rateControl.current.peakBitsPerSecond > 0 else {
      let qp = constantQP ?? job.sliceQP
      var plan = PicturePlan(constantQP: qp)
      encoder.encodeLossy(job, plan: &plan, into: &sink)
      return qp
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
