internal import Bitstream
internal import CVA

/// One encoder of the client's: the picture under way, and what outlives a picture.
@safe final class EncodeContext {
  let config: EncodeConfig
  let columns: Int
  let rows: Int
  let encoder: PictureEncoder
  var rateControl = RateControl()
  let windows = PictureWindows()
  var target: Surface?
  var request = PictureRequest()
  /// Where our own slice header is put together; kept, so that a picture allocates nothing.
  var headerBits = BitWriter()
  /// Where a packed slice header is read without emulation prevention; kept likewise.
  var unescaped: [UInt8] = []
  var sequence: VAEncSequenceParameterBufferH264?

  init(config: EncodeConfig, width: Int, height: Int) throws(DriverError) {
    guard width > 0, height > 0 else { throw .invalidParameter }
    guard width <= EncodeConfig.largestSide, height <= EncodeConfig.largestSide else {
      throw .resolutionNotSupported
    }
    self.config = config
    columns = (width + 15) / 16
    rows = (height + 15) / 16
    encoder = try PictureEncoder(columns: columns, rows: rows)
  }

  /// Takes a copy of one buffer that the client rendered.
  func take(_ buffer: DriverBuffer) throws(DriverError) {
    switch buffer.type {
    case VAEncSequenceParameterBufferType:
      sequence = try buffer.value(as: VAEncSequenceParameterBufferH264.self)
      request.hasNewSequence = true
    case VAEncPictureParameterBufferType:
      request.picture = try buffer.value(as: VAEncPictureParameterBufferH264.self)
    case VAEncSliceParameterBufferType:
      // One slice a picture is what the config offers.
      guard request.slice == nil, buffer.elementCount == 1 else { throw .invalidParameter }
      request.slice = try buffer.value(as: VAEncSliceParameterBufferH264.self)
    case VAEncPackedHeaderParameterBufferType:
      try request.headers.announce(buffer.value(as: VAEncPackedHeaderParameterBuffer.self))
    case VAEncPackedHeaderDataBufferType:
      let data = unsafe UnsafeRawBufferPointer(
        start: buffer.storage.base, count: buffer.byteCount)
      try unsafe request.headers.append(data)
    case VAEncMiscParameterBufferType:
      try takeMisc(buffer)
    default:
      throw .unsupportedBuffer
    }
  }

  /// Rate control, frame rate and buffer size; other kinds are hints that change nothing here.
  private func takeMisc(_ buffer: DriverBuffer) throws(DriverError) {
    var settings = rateControl.current
    let type = try buffer.value(as: VAEncMiscParameterType.self)
    switch type {
    case VAEncMiscParameterTypeRateControl:
      let wanted = try buffer.value(as: VAEncMiscParameterRateControl.self, at: 4)
      let isVariable = config.rateControl == UInt32(VA_RC_VBR)
      guard config.rateControl == UInt32(VA_RC_CQP) || wanted.bits_per_second > 0,
        !isVariable || (1...100).contains(wanted.target_percentage),
        wanted.min_qp <= 51, wanted.max_qp <= 51, wanted.initial_qp <= 51
      else { throw .invalidParameter }
      settings.peakBitsPerSecond = Int(wanted.bits_per_second)
      settings.targetPercentage = isVariable ? Int(wanted.target_percentage) : 100
      settings.minimumQP = Int(wanted.min_qp)
      settings.maximumQP = wanted.max_qp == 0 ? 51 : Int(wanted.max_qp)
      settings.initialQP = Int(wanted.initial_qp)
    case VAEncMiscParameterTypeFrameRate:
      let packed = try buffer.value(as: VAEncMiscParameterFrameRate.self, at: 4).framerate
      let rate = Double(packed & 0xffff) / Double(max(1, packed >> 16))
      guard rate > 0 else { throw .invalidParameter }
      settings.picturesPerSecond = rate
    case VAEncMiscParameterTypeHRD:
      let hrd = try buffer.value(as: VAEncMiscParameterHRD.self, at: 4)
      guard hrd.buffer_size > 0 else { throw .invalidParameter }
      settings.bufferBits = Int(hrd.buffer_size)
    default:
      return
    }
    rateControl.configure(settings)
  }
}
