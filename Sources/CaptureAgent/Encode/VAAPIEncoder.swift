import PipeWire
import VAAPI
import Wire

/// Encodes with the driver that libva loads for a display.
final class VAAPIEncoder: VideoEncoder {
  private(set) var stream: EncodedStream
  /// What the driver calls itself.
  let vendor: String
  /// What is not as it was asked for, one line each.
  let warnings: [String]
  /// The bit rate in force.
  var bitsPerSecond: Int { control.bitsPerSecond }
  var cursor: Cursor?
  var hasPicture: Bool { input.hasPicture || rescued != nil }
  /// Bytes of frames written so far: into the input, and into it from beside where the driver maps no
  /// surface.
  private(set) var bytesCopied = 0

  /// nil between a loss and what comes after it.
  private var device: EncodeDevice?
  private var configuration: EncoderConfiguration
  private var input: EncoderInput
  private var headers: H264Headers
  private var control: RateControl
  private var isControlChanged = false
  private var needsContext = false
  private var order = PictureOrder()
  /// nil while nothing is configured: before the start, and after a `reconfigure` that failed.
  private var pictures: EncoderPictures?
  private var output: MappedCodedBuffer?
  private let correctedSequence = CorrectedSequence()
  /// Failures of the driver without a picture between them.
  private var failures = 0
  private var isLost = false
  /// The loaded picture, between a loss and the next device.
  private var rescued: RescuedPicture?

  /// A driver that fails so often in a row may have lost its device: everything is opened anew.
  private static let lossAfter = 3

  init(configuration: EncoderConfiguration) throws(EncoderError) {
    let device = try EncodeDevice(configuration: configuration)
    self.device = device
    vendor = device.display.vendor
    warnings = device.choice.warnings
    self.configuration = configuration
    input = EncoderInput(configuration: configuration)
    control = RateControl(configuration: configuration)
    headers = try device.headers(for: configuration, control)
    stream = EncodedStream(configuration: configuration, headers: headers)
    pictures = try device.pictures(for: configuration)
  }

  func reconfigure(for frames: FrameShape, isHalved: Bool) throws(EncoderError) {
    configuration.takeFrames(frames, isHalved: isHalved)
    rescued = nil
    try startAnew()
  }

  /// A rate above what the stream's level allows needs another level, so a keyframe comes next. Mesa's
  /// drivers may stay at the old rate for as long as their context lives, so they get another one.
  func setBitrate(_ bitsPerSecond: Int?) {
    configuration.bitsPerSecond = bitsPerSecond
    let changed = RateControl(configuration: configuration)
    guard changed != control else { return }
    control = changed
    isControlChanged = true
    guard let device else { return }
    if device.choice.family == .mesa, device.choice.rateControl != .cqp {
      needsContext = true
      order.lose()
    }
    guard let wanted = try? device.headers(for: configuration, control),
      wanted.level > headers.level
    else { return }
    headers = wanted
    stream = EncodedStream(configuration: configuration, headers: headers)
    order.lose()
  }

  func load(_ frame: consuming Frame) throws(EncoderError) {
    precondition(
      frame.shape == configuration.geometry.frame,
      "the encoder is configured for the frames it is given")
    release()
    let (device, pictures) = try configured()
    do throws(EncoderError) {
      bytesCopied += try input.load(frame, into: pictures, of: device)
    } catch {
      if case .driver = error { countFailure() }
      throw error
    }
  }

  var recheckDue: Int64? { input.recheckDue }

  func recheck() throws(EncoderError) -> Bool {
    release()
    let (device, pictures) = try configured()
    do throws(EncoderError) {
      let written = try input.recheck(into: pictures, of: device)
      bytesCopied += written ?? 0
      return written != nil
    } catch {
      if case .driver = error { countFailure() }
      throw error
    }
  }

  func encode(keyframe: Bool, pts: Int64) throws(EncoderError) -> AccessUnit {
    release()
    let (device, pictures) = try configured()
    guard hasPicture else { throw .driver("no picture is loaded") }
    guard try input.lay(cursor, over: pictures, of: device) else {
      return try encode(pictures, keyframe: keyframe, pts: pts)
    }
    let unit: AccessUnit
    do throws(EncoderError) {
      unit = try encode(pictures, keyframe: keyframe, pts: pts)
    } catch {
      try? input.liftCursor(from: pictures, of: device)
      throw error
    }
    try input.liftCursor(from: pictures, of: device)
    return unit
  }

  private func encode(
    _ pictures: EncoderPictures, keyframe: Bool, pts: Int64
  ) throws(EncoderError) -> AccessUnit {
    if needsContext { try begin { () throws(VAError) in try pictures.remakeContext() } }
    needsContext = false
    var raise = 0
    while RateControl.constantQP + raise <= RateControl.maxQP {
      let picture = order.next(
        keyframe: keyframe, headers: headers,
        qpDelta: device?.choice.rateControl == .cqp ? Int8(raise) : 0)
      if let unit = try attempt(picture, in: pictures, raise: raise, pts: pts) {
        order.advance(past: picture)
        failures = 0
        // What held for a picture that did not fit does not hold for the next one.
        isControlChanged = raise > 0
        return unit
      }
      release()
      // What a driver makes of a picture that does not fit is no reference.
      order.lose()
      if pictures.codedByteCount < EncoderPictures.largestCodedByteCount {
        try begin { () throws(VAError) in try pictures.enlargeCoded() }
      } else {
        raise += RateControl.coarser
      }
    }
    throw .driver("a picture does not fit \(pictures.codedByteCount) bytes")
  }

  func release() { output = nil }

  /// Everything that depends on the configuration; the old is given back first, for two sizes at once do
  /// not fit the limit.
  private func startAnew() throws(EncoderError) {
    giveBackPictures()
    order = PictureOrder()
    needsContext = false
    control = RateControl(configuration: configuration)
    let device =
      if let kept = self.device { kept } else { try EncodeDevice(configuration: configuration) }
    self.device = device
    headers = try device.headers(for: configuration, control)
    stream = EncodedStream(configuration: configuration, headers: headers)
    pictures = try device.pictures(for: configuration)
  }

  /// The frame and the imports first: they are the device's.
  private func giveBackPictures() {
    release()
    input = EncoderInput(configuration: configuration)
    pictures = nil
  }

  /// The pictures; after a loss, those of a device that was opened anew.
  private func configured() throws(EncoderError) -> (EncodeDevice, EncoderPictures) {
    if isLost {
      rescue()
      giveBackPictures()
      device = nil
      isLost = false
    }
    if pictures == nil {
      let wasLost = device == nil
      do throws(EncoderError) {
        try startAnew()
      } catch {
        // It may come back: a device that is reset takes a second or two.
        if wasLost, case .unavailable(let text) = error {
          throw .driver("the device is lost: \(text)")
        }
        throw error
      }
    }
    guard let device, let pictures else {
      preconditionFailure("whoever starts anew has pictures")
    }
    if let picture = rescued.take() { input.show(picture, in: pictures) }
    return (device, pictures)
  }

  /// Keeps the picture that is loaded, for the device that is opened next.
  private func rescue() {
    guard input.hasPicture, let pictures else { return }
    rescued = RescuedPicture.taken(
      from: pictures.input, width: configuration.codedWidth, height: configuration.codedHeight)
  }

  /// The next picture is a keyframe, and of another device if that was one failure too many.
  private func countFailure() {
    order.lose()
    failures += 1
    isLost = failures.isMultiple(of: Self.lossAfter)
  }

  private func failure(_ error: VAError) -> EncoderError {
    countFailure()
    return device?.failure(error) ?? .driver("\(error)")
  }

  private func begin(_ body: () throws(VAError) -> Void) throws(EncoderError) {
    do throws(VAError) {
      try body()
    } catch {
      throw failure(error)
    }
  }

  /// Encodes `picture`; nil when it does not fit.
  private func attempt(
    _ picture: H264Picture, in pictures: EncoderPictures, raise: Int, pts: Int64
  ) throws(EncoderError) -> AccessUnit? {
    do throws(VAError) {
      try pictures.context.encode(
        pictures.input, parameters: parameters(for: picture, in: pictures, raise: raise))
      output = try pictures.coded.map(encodedFrom: pictures.input)
      input.letGo()
    } catch {
      if error.isBufferTooSmall { return nil }
      throw failure(error)
    }
    return try accessUnit(of: picture, pts: pts)
  }

  /// The buffers of one picture, in the order that drivers are used to: sequence and rate control before
  /// the picture, packed headers before the slice.
  private func parameters(
    for picture: H264Picture, in pictures: EncoderPictures, raise: Int
  ) throws(VAError) -> ParameterBuffers {
    var buffers = ParameterBuffers(for: pictures.context)
    guard let choice = device?.choice else { return buffers }
    if picture.isIDR {
      try buffers.add(
        headers.sequence(
          framesPerSecond: configuration.framesPerSecond, bitsPerSecond: control.bitsPerSecond))
    }
    if picture.isIDR || isControlChanged || raise > 0 {
      if choice.rateControl == .cqp {
        try buffers.addFrameRate(configuration.framesPerSecond)
      } else {
        try buffers.add(control.parameters(raise: raise, for: choice.family))
      }
    }
    if picture.isIDR, let level = choice.qualityLevel { try buffers.addQualityLevel(level) }
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
    if !status.isDisjoint(with: .overflow) { return nil }
    var unit = AccessUnit(isKeyframe: picture.isIDR, pts: pts)
    var isWhole = true
    unsafe output?.forEachSegment { segment in
      isWhole = unsafe unit.append(segment) && isWhole
    }
    if unit.byteCount > WireLimits.payload { return nil }
    let type = unit.leadingSliceType
    // A new Mesa without our slice header writes that, and will not do better the next time.
    if type == 0 {
      throw .unavailable("\(vendor) writes NAL units of type 0, which nothing decodes")
    }
    guard isWhole, !status.contains(.badBitstream), type == (picture.isIDR ? 5 : 1) else {
      countFailure()
      throw .driver("\(vendor) returned no H.264 picture: \(unit.byteCount) bytes")
    }
    if picture.isIDR, device?.choice.packedHeaders.contains(.sequence) == false {
      let bytes = unit.bytes()
      if let (range, set) = stream.takeParameterSets(
        from: bytes, colour: configuration.colour.tags)
      {
        return correctedSequence.put(set, in: range, of: unit) ?? unit
      }
    }
    return unit
  }
}
