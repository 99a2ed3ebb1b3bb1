internal import CVA

extension EncodeContext {
  /// Takes rate control, frame rate and buffer size; other kinds are hints that change nothing here.
  func takeMisc(_ buffer: DriverBuffer) throws(DriverError) {
    var settings = rateControl.current
    switch try buffer.value(as: VAEncMiscParameterType.self) {
    case VAEncMiscParameterTypeRateControl:
      try take(buffer.value(as: VAEncMiscParameterRateControl.self, at: 4), into: &settings)
    case VAEncMiscParameterTypeFrameRate:
      let packed = try buffer.value(as: VAEncMiscParameterFrameRate.self, at: 4).framerate
      let rate = Double(packed & 0xffff) / Double(max(1, packed >> 16))
      guard rate > 0 else { throw .invalidParameter.because("a frame rate of 0") }
      settings.picturesPerSecond = rate
    case VAEncMiscParameterTypeHRD:
      let hrd = try buffer.value(as: VAEncMiscParameterHRD.self, at: 4)
      guard hrd.buffer_size > 0 else { throw .invalidParameter.because("an HRD buffer of 0 bits") }
      settings.bufferBits = Int(hrd.buffer_size)
    default:
      return
    }
    rateControl.configure(settings)
  }

  private func take(
    _ wanted: VAEncMiscParameterRateControl, into settings: inout RateControl.Settings
  ) throws(DriverError) {
    guard wanted.min_qp <= 51, wanted.max_qp <= 51, wanted.initial_qp <= 51,
      wanted.max_qp == 0 || wanted.min_qp <= wanted.max_qp
    else { throw .invalidParameter.because("a QP beyond 51, or a least above the largest") }
    let hasTarget = config.rateControl == UInt32(VA_RC_VBR)
    var least = Int(wanted.min_qp)
    var largest = wanted.max_qp == 0 ? 51 : Int(wanted.max_qp)
    switch config.rateControl {
    case UInt32(VA_RC_CQP): break
    case UInt32(VA_RC_ICQ):
      guard (1...51).contains(wanted.ICQ_quality_factor) else {
        throw .invalidParameter.because("an ICQ quality factor outside 1 to 51")
      }
      constantQP = Int(wanted.ICQ_quality_factor)
    default:
      guard wanted.bits_per_second > 0 else { throw .invalidParameter.because("a rate of 0 bits") }
      guard !hasTarget || (1...100).contains(wanted.target_percentage) else {
        throw .invalidParameter.because("a VBR target outside 1 to 100 percent")
      }
    }
    if config.rateControl == UInt32(VA_RC_QVBR) {
      guard (1...51).contains(wanted.quality_factor) else {
        throw .invalidParameter.because("a QVBR quality factor outside 1 to 51")
      }
      // No picture gets better than asked for.
      least = max(least, Int(wanted.quality_factor))
      largest = max(largest, least)
    }
    settings.peakBitsPerSecond = Int(wanted.bits_per_second)
    settings.targetPercentage = hasTarget ? Int(wanted.target_percentage) : 100
    settings.minimumQP = least
    settings.maximumQP = largest
    settings.initialQP = Int(wanted.initial_qp)
  }
}
