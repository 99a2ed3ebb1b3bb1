import Glibc
import PipeWire
import VAAPI
import Wire

/// Encodes with the driver that libva loads for a display.
final class VAAPIEncoder: VideoEncoder {
  private(set) var stream: EncodedStream
  /// What the driver calls itself.
  var vendor: String { display.vendor }
  /// What is not as it was asked for, one line each.
  var warnings: [String] { choice.warnings }
  /// The bit rate in force.
  var bitsPerSecond: Int { control.bitsPerSecond }

  private let display: Display
  private let choice: EncoderChoice
  private var configuration: EncoderConfiguration
  private var headers: H264Headers
  private var control: RateControl
  private var isControlChanged = false
  private var order = PictureOrder()
  /// nil while nothing is configured: before the start, and after a `reconfigure` that failed.
  private var pictures: EncoderPictures?
  private var output: MappedCodedBuffer?
  /// Whether the input holds all of a frame, so that only damage has to be converted.
  private var isInputWhole = false
  private var halver: FrameHalver?
  /// Bytes of frames written so far: into the input, and into it from beside where the driver maps no
  /// surface.
  private(set) var bytesCopied = 0

  init(configuration: EncoderConfiguration) throws(EncoderError) {
    do throws(VAError) {
      display = try Display.open(configuration.display, driverFolder: configuration.driverFolder)
    } catch {
      throw .unavailable("\(error)")
    }
    self.configuration = configuration
    choice = try EncoderChoice(on: display, profile: configuration.profile)
    control = RateControl(configuration: configuration)
    headers = try H264Headers(
      configuration: configuration, profile: choice.capability.profile,
      bitsPerSecond: control.bitsPerSecond)
    stream = EncodedStream(configuration: configuration, headers: headers)
    pictures = try Self.pictures(on: display, choice: choice, configuration: configuration)
  }

  func reconfigure(width: Int, height: Int, isHalved: Bool = false) throws(EncoderError) {
    release()
    pictures = nil  // first: two sizes at once do not fit the limit
    order = PictureOrder()
    isInputWhole = false
    configuration.takeFrames(width: width, height: height, isHalved: isHalved)
    halver = configuration.isHalved ? FrameHalver(width: configuration.width) : nil
    control = RateControl(configuration: configuration)
    headers = try H264Headers(
      configuration: configuration, profile: choice.capability.profile,
      bitsPerSecond: control.bitsPerSecond)
    stream = EncodedStream(configuration: configuration, headers: headers)
    pictures = try Self.pictures(on: display, choice: choice, configuration: configuration)
  }

  /// A rate above what the stream's level allows needs another level, so a keyframe comes next.
  func setBitrate(_ bitsPerSecond: Int?) {
    configuration.bitsPerSecond = bitsPerSecond
    control = RateControl(configuration: configuration)
    isControlChanged = true
    guard
      let wanted = try? H264Headers(
        configuration: configuration, profile: choice.capability.profile,
        bitsPerSecond: control.bitsPerSecond),
      wanted.level > headers.level
    else { return }
    headers = wanted
    stream = EncodedStream(configuration: configuration, headers: headers)
    order.lose()
  }

  func load(_ frame: borrowing Frame) throws(EncoderError) {
    precondition(
      configuration.fits(width: frame.width, height: frame.height),
      "the encoder is configured for the frames it is given")
    release()
    let pictures = try configured()
    do {
      let image = try MappedImage(
        of: pictures.input, width: configuration.codedWidth, height: configuration.codedHeight)
      let damage = isInputWhole && image.isSurface ? frame.damage : nil
      isInputWhole = false
      let isSurface = image.isSurface
      let written = try FrameConverter(configuration: configuration).convert(
        frame, damage: damage, through: halver, into: image)
      try image.finish()
      bytesCopied += isSurface ? written : written + configuration.surfaceByteCount
      isInputWhole = true
    } catch let error as VAError {
      throw failure(error)
    } catch {
      if case SharedBufferError.cannotMap(ENOMEM) = error {
        throw .memory("a frame's rows cannot be mapped")
      }
      throw .frame("\(error)")
    }
  }

  func encode(keyframe: Bool, pts: Int64) throws(EncoderError) -> AccessUnit {
    release()
    let pictures = try configured()
    var raise = 0
    while RateControl.constantQP + raise <= RateControl.maxQP {
      let picture = order.next(
        keyframe: keyframe, headers: headers,
        qpDelta: choice.rateControl == .cqp ? Int8(raise) : 0)
      if let unit = try attempt(picture, in: pictures, raise: raise, pts: pts) {
        order.advance(past: picture)
        // What held for a picture that did not fit does not hold for the next one.
        isControlChanged = raise > 0
        return unit
      }
      release()
      raise += RateControl.coarser
    }
    order.lose()
    throw .driver("a picture does not fit \(configuration.codedBufferByteCount) bytes")
  }

  func release() { output = nil }

  private static func pictures(
    on display: Display, choice: EncoderChoice, configuration: EncoderConfiguration
  ) throws(EncoderError) -> EncoderPictures {
    try choice.capability.checkSize(of: configuration)
    do throws(VAError) {
      return try EncoderPictures(on: display, choice: choice, configuration: configuration)
    } catch {
      throw Self.failure(error, on: display)
    }
  }

  private func failure(_ error: VAError) -> EncoderError { Self.failure(error, on: display) }

  private static func failure(_ error: VAError, on display: Display) -> EncoderError {
    let text = display.explained(error)
    return error.isOutOfMemory ? .memory(text) : .driver(text)
  }

  private func configured() throws(EncoderError) -> EncoderPictures {
    guard let pictures else { throw .driver("no encoder is configured") }
    return pictures
  }

  /// Encodes `picture`; nil when it does not fit.
  private func attempt(
    _ picture: H264Picture, in pictures: EncoderPictures, raise: Int, pts: Int64
  ) throws(EncoderError) -> AccessUnit? {
    do throws(VAError) {
      try pictures.context.encode(
        pictures.input, parameters: parameters(for: picture, in: pictures, raise: raise))
      output = try pictures.coded.map(encodedFrom: pictures.input)
    } catch {
      if error.isBufferTooSmall { return nil }
      order.lose()
      throw failure(error)
    }
    return try accessUnit(of: picture, pts: pts)
  }

  /// The buffers of one picture, in the order that drivers are used to.
  private func parameters(
    for picture: H264Picture, in pictures: EncoderPictures, raise: Int
  ) throws(VAError) -> ParameterBuffers {
    var buffers = ParameterBuffers(for: pictures.context)
    if picture.isIDR {
      try buffers.add(
        headers.sequence(
          framesPerSecond: configuration.framesPerSecond, bitsPerSecond: control.bitsPerSecond))
    }
    if picture.isIDR || isControlChanged || raise > 0 {
      if choice.rateControl == .cqp {
        try buffers.addFrameRate(configuration.framesPerSecond)
      } else {
        try buffers.add(control.parameters(raise: raise))
      }
    }
    try buffers.add(
      picture, reconstruction: pictures.reconstructions[order.reconstruction],
      reference: pictures.reconstructions[order.reference], coded: pictures.coded)
    if picture.isIDR, choice.packedHeaders.contains(.sequence) {
      try buffers.addPackedSequence(stream.parameterSets)
    }
    if choice.packedHeaders.contains(.slice) {
      try headers.addSliceHeader(of: picture, to: &buffers)
    }
    try buffers.addSlice(of: picture, reference: pictures.reconstructions[order.reference])
    return buffers
  }

  /// What the driver wrote; nil when it did not fit.
  private func accessUnit(
    of picture: H264Picture, pts: Int64
  ) throws(EncoderError) -> AccessUnit? {
    let status = output?.status ?? []
    if status.contains(.overflow) { return nil }
    var unit = AccessUnit(isKeyframe: picture.isIDR, pts: pts)
    var isWhole = true
    unsafe output?.forEachSegment { segment in
      isWhole = unsafe unit.append(segment) && isWhole
    }
    if unit.byteCount > WireLimits.payload { return nil }
    // A new Mesa without our slice header writes a NAL unit of type 0, which nothing decodes.
    guard isWhole, !status.contains(.badBitstream), let type = unit.firstUnitType, type != 0 else {
      order.lose()
      throw .driver("\(display.vendor) returned no H.264: \(unit.byteCount) bytes")
    }
    if picture.isIDR, !choice.packedHeaders.contains(.sequence) {
      stream.takeParameterSets(from: unit.bytes())
    }
    return unit
  }
}
