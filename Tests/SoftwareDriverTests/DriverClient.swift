import CVA
import Glibc
import Testing

@testable import SoftwareDriver

/// A client as the agent is one: an input surface, two reconstructions in turn, one coded buffer.
final class DriverClient {
  let display: DriverDisplay
  let width: Int
  let height: Int
  let columns: Int
  let rows: Int
  /// Two reconstructions, then the input.
  private(set) var surfaces: [VASurfaceID]
  private(set) var config = VAConfigID()
  private(set) var context = VAContextID()
  private(set) var codedBuffer = VABufferID()
  /// Pictures since the last IDR, and since the start.
  private(set) var frameNum = 0
  private(set) var count = 0
  /// Laid over the parameters of each picture before they are sent.
  var adjust: (inout PictureParameters) -> Void = { _ in }

  private var va: VADisplay { display.display }

  init(
    mode: EncodeMode = .lossy, width: Int, height: Int,
    profile: VAProfile = VAProfileH264ConstrainedBaseline,
    entrypoint: VAEntrypoint = VAEntrypointEncSlice, rateControl: Int32 = VA_RC_CQP,
    promisedHeaders: UInt32 = 0, codedBytes: Int? = nil,
    options change: (inout DriverOptions) -> Void = { _ in }
  ) throws {
    var options = DriverOptions()
    options.mode = mode
    change(&options)
    display = try DriverDisplay(options: options)
    self.width = width
    self.height = height
    columns = (width + 15) / 16
    rows = (height + 15) / 16
    surfaces = [VASurfaceID](repeating: VA_INVALID_ID, count: 3)
    var attributes = [
      VAConfigAttrib(type: VAConfigAttribRTFormat, value: UInt32(VA_RT_FORMAT_YUV420)),
      VAConfigAttrib(type: VAConfigAttribRateControl, value: UInt32(rateControl)),
      VAConfigAttrib(type: VAConfigAttribEncPackedHeaders, value: promisedHeaders),
    ]
    try check(
      vaCreateConfig(
        va, profile, entrypoint, &attributes,
        Int32(attributes.count), &config))
    try check(
      vaCreateSurfaces(
        va, UInt32(VA_RT_FORMAT_YUV420), UInt32(columns * 16), UInt32(rows * 16), &surfaces, 3,
        nil, 0))
    try check(
      vaCreateContext(
        va, config, Int32(columns * 16), Int32(rows * 16), VA_PROGRESSIVE, &surfaces, 3, &context))
    let bytes = codedBytes ?? columns * rows * 400 + 4096
    try check(
      vaCreateBuffer(va, context, VAEncCodedBufferType, UInt32(bytes), 1, nil, &codedBuffer))
  }

  var input: VASurfaceID { surfaces[2] }
  /// Where the next picture is reconstructed, and where the last one was.
  var target: VASurfaceID { surfaces[count & 1] }
  var reference: VASurfaceID { surfaces[(count + 1) & 1] }

  /// Codes one picture; the first is an IDR whatever is asked.
  @discardableResult
  func encode(
    _ picture: Picture, qp: Int = 26, isIDR: Bool = false, misc: [[UInt8]] = [],
    headers: [PackedHeader] = []
  ) throws -> CodedPicture {
    try put(picture)
    let isIDR = isIDR || count == 0
    if isIDR { frameNum = 0 }
    var parameters = PictureParameters(client: self, qp: qp, isIDR: isIDR)
    adjust(&parameters)
    try render(parameters, misc: misc, headers: headers)
    let coded = try CodedPicture(
      bytes: Array(codedSegments().pieces.joined()), reconstruction: read(target), reference: target
    )
    frameNum += 1
    count += 1
    return coded
  }

  /// Puts a picture into the input surface, its last row and column repeated up to whole macroblocks.
  func put(_ picture: Picture) throws {
    var image = VAImage()
    try check(vaDeriveImage(va, input, &image))
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(va, image.buf, &data))
    let bytes = try #require(data).assumingMemoryBound(to: UInt8.self)
    for y in 0..<rows * 16 {
      for x in 0..<columns * 16 {
        bytes[Int(image.offsets.0) + y * Int(image.pitches.0) + x] = picture.luma(x, y)
      }
    }
    for y in 0..<rows * 8 {
      for x in 0..<columns * 16 {
        bytes[Int(image.offsets.1) + y * Int(image.pitches.1) + x] = picture.chroma(x, y)
      }
    }
    try check(vaUnmapBuffer(va, image.buf))
    try check(vaDestroyImage(va, image.image_id))
  }

  /// A surface's pixels, cut to the display size.
  func read(_ surface: VASurfaceID) throws -> [UInt8] {
    var format = VAImageFormat()
    format.fourcc = UInt32(VA_FOURCC_NV12)
    var image = VAImage()
    try check(vaCreateImage(va, &format, Int32(columns * 16), Int32(rows * 16), &image))
    try check(
      vaGetImage(va, surface, 0, 0, UInt32(columns * 16), UInt32(rows * 16), image.image_id))
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(va, image.buf, &data))
    let bytes = try #require(data).assumingMemoryBound(to: UInt8.self)
    var pixels: [UInt8] = []
    for y in 0..<height {
      let row = bytes + Int(image.offsets.0) + y * Int(image.pitches.0)
      pixels += UnsafeBufferPointer(start: row, count: width)
    }
    for y in 0..<height / 2 {
      let row = bytes + Int(image.offsets.1) + y * Int(image.pitches.1)
      pixels += UnsafeBufferPointer(start: row, count: width)
    }
    try check(vaUnmapBuffer(va, image.buf))
    try check(vaDestroyImage(va, image.image_id))
    return pixels
  }

  /// Begins, renders and ends one picture, and waits for it.
  func render(
    _ parameters: PictureParameters, misc: [[UInt8]] = [], headers: [PackedHeader] = []
  ) throws {
    try submit(parameters, misc: misc, headers: headers)
    let status = vaSyncBuffer(va, codedBuffer, UInt64(VA_TIMEOUT_INFINITE))
    try check(
      status == VA_STATUS_ERROR_UNIMPLEMENTED ? vaSyncSurface(va, parameters.source) : status)
  }

  /// Begins, renders and ends one picture.
  func submit(
    _ parameters: PictureParameters, misc: [[UInt8]] = [], headers: [PackedHeader] = []
  ) throws {
    var ids: [VABufferID] = []
    defer { for id in ids { vaDestroyBuffer(va, id) } }
    if let sequence = parameters.sequence {
      ids.append(try buffer(VAEncSequenceParameterBufferType, bytes: bytes(of: sequence)))
    }
    for bytes in misc {
      ids.append(try buffer(VAEncMiscParameterBufferType, bytes: bytes))
    }
    ids.append(
      try buffer(VAEncPictureParameterBufferType, bytes: bytes(of: parameters.picture)))
    for header in headers {
      if let parameters = header.parameters {
        ids.append(
          try buffer(VAEncPackedHeaderParameterBufferType, bytes: bytes(of: parameters)))
      }
      if let bytes = header.bytes {
        ids.append(try buffer(VAEncPackedHeaderDataBufferType, bytes: bytes))
      }
    }
    ids.append(try buffer(VAEncSliceParameterBufferType, bytes: bytes(of: parameters.slice)))
    try check(vaBeginPicture(va, context, parameters.source))
    // A picture that is refused in between still has to be ended.
    let rendered = vaRenderPicture(va, context, &ids, Int32(ids.count))
    let ended = vaEndPicture(va, context)
    try check(rendered)
    try check(ended)
  }

  /// Gives back all that the client made.
  func destroyAll() {
    vaDestroyBuffer(va, codedBuffer)
    vaDestroyContext(va, context)
    vaDestroySurfaces(va, &surfaces, 3)
    vaDestroyConfig(va, config)
  }

  /// The pieces of the coded buffer, and their status words together.
  func codedSegments() throws -> (pieces: [[UInt8]], status: UInt32) {
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(va, codedBuffer, &data))
    defer { vaUnmapBuffer(va, codedBuffer) }
    var pieces: [[UInt8]] = []
    var status: UInt32 = 0
    while let segment = data?.assumingMemoryBound(to: VACodedBufferSegment.self).pointee {
      pieces.append([UInt8](UnsafeRawBufferPointer(start: segment.buf, count: Int(segment.size))))
      status |= segment.status
      data = segment.next
    }
    return (pieces, status)
  }

  private func buffer(_ type: VABufferType, bytes: [UInt8]) throws -> VABufferID {
    var id = VABufferID()
    var bytes = bytes
    try check(vaCreateBuffer(va, context, type, UInt32(bytes.count), 1, &bytes, &id))
    return id
  }
}

/// What a picture became.
struct CodedPicture {
  let bytes: [UInt8]
  /// NV12 of the display size.
  let reconstruction: [UInt8]
  let reference: VASurfaceID
}

/// A header of the client's own, as its two buffers; either may be left out to see it refused.
struct PackedHeader {
  var parameters: VAEncPackedHeaderParameterBuffer?
  var bytes: [UInt8]?

  init(type: VAEncPackedHeaderType, bytes: [UInt8], bitLength: Int? = nil, isEscaped: Bool = true) {
    var parameters = VAEncPackedHeaderParameterBuffer()
    parameters.type = type.rawValue
    parameters.bit_length = UInt32(bitLength ?? bytes.count * 8)
    parameters.has_emulation_bytes = isEscaped ? 1 : 0
    self.parameters = parameters
    self.bytes = bytes
  }
}
