import CVA

/// How many bits a second the driver may spend, and between which quantisers.
package struct RateControlParameters: Sendable {
  /// The peak, which is its own target.
  package var bitsPerSecond: Int
  package var framesPerSecond: Int
  /// What the modelled buffer of a receiver holds.
  package var bufferBits: Int
  /// Over how long the rate is held.
  package var windowMilliseconds: Int
  /// 0 leaves a bound or the start to the driver.
  package var initialQP: Int
  package var minQP: Int
  package var maxQP: Int
  /// For the modes that aim at a quality: 1 is the best, 51 the coarsest; 0 leaves it to the driver.
  package var quality: Int

  package init(
    bitsPerSecond: Int, framesPerSecond: Int, bufferBits: Int, windowMilliseconds: Int,
    initialQP: Int, minQP: Int, maxQP: Int, quality: Int
  ) {
    self.bitsPerSecond = bitsPerSecond
    self.framesPerSecond = framesPerSecond
    self.bufferBits = bufferBits
    self.windowMilliseconds = windowMilliseconds
    self.initialQP = initialQP
    self.minQP = minQP
    self.maxQP = maxQP
    self.quality = quality
  }
}

extension ParameterBuffers {
  /// Adds rate control, buffer model and frame rate: with each IDR picture and at each change.
  package mutating func add(_ control: RateControlParameters) throws(VAError) {
    var rate = VAEncMiscParameterRateControl()
    rate.bits_per_second = UInt32(control.bitsPerSecond)
    // Of the peak; drivers take 0 for a target of nothing.
    rate.target_percentage = 100
    rate.window_size = UInt32(control.windowMilliseconds)
    rate.initial_qp = UInt32(control.initialQP)
    rate.min_qp = UInt32(control.minQP)
    rate.max_qp = UInt32(control.maxQP)
    rate.ICQ_quality_factor = UInt32(control.quality)
    rate.quality_factor = UInt32(control.quality)
    // A still screen would be padded with filler up to the bit rate.
    unsafe rate.rc_flags.bits.disable_bit_stuffing = 1
    try addMiscellaneous(rate, kind: VAEncMiscParameterTypeRateControl)

    var model = VAEncMiscParameterHRD()
    model.buffer_size = UInt32(control.bufferBits)
    model.initial_buffer_fullness = UInt32(control.bufferBits / 4 * 3)
    try addMiscellaneous(model, kind: VAEncMiscParameterTypeHRD)
    try addFrameRate(control.framesPerSecond)
  }

  /// Adds how hard the driver is to try: 1 is the best, higher is faster.
  package mutating func addQualityLevel(_ level: Int) throws(VAError) {
    var quality = VAEncMiscParameterBufferQualityLevel()
    quality.quality_level = UInt32(level)
    try addMiscellaneous(quality, kind: VAEncMiscParameterTypeQualityLevel)
  }

  /// Adds the frame rate alone, which a driver with constant quantisers may use too.
  package mutating func addFrameRate(_ framesPerSecond: Int) throws(VAError) {
    var rate = VAEncMiscParameterFrameRate()
    rate.framerate = 1 << 16 | UInt32(framesPerSecond)
    try addMiscellaneous(rate, kind: VAEncMiscParameterTypeFrameRate)
  }
}
