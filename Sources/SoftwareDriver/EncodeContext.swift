internal import Bitstream
internal import CVA

/// One encoder of the client's: the picture under way, and what outlives a picture.
@safe final class EncodeContext {
  let config: EncodeConfig
  let columns: Int
  let rows: Int
  let encoder: PictureEncoder
  var rateControl = RateControl()
  /// ICQ's quality factor, which is this driver's QP for all pictures.
  var constantQP: Int?
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
      guard !config.personality.packedHeaders.isEmpty else { throw .unimplemented }
      try request.headers.announce(
        buffer.value(as: VAEncPackedHeaderParameterBuffer.self),
        offered: config.personality.packedHeaders)
    case VAEncPackedHeaderDataBufferType:
      guard !config.personality.packedHeaders.isEmpty else { throw .unimplemented }
      let data = unsafe UnsafeRawBufferPointer(
        start: buffer.storage.base, count: buffer.byteCount)
      try unsafe request.headers.append(data)
    case VAEncMiscParameterBufferType:
      try takeMisc(buffer)
    default:
      throw .unsupportedBuffer
    }
  }
}
