internal import CVA

/// A client's choice to process pictures; there is nothing to choose.
final class ProcessConfig {
  static let renderTargetFormats = UInt32(VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_RGB32)

  let attributes = [VAConfigAttrib(type: VAConfigAttribRTFormat, value: renderTargetFormats)]

  /// A supported attribute's value, as `vaGetConfigAttributes` gives it.
  static func offered(_ type: VAConfigAttribType) -> UInt32? {
    type == VAConfigAttribRTFormat ? renderTargetFormats : nil
  }

  init(wanted: UnsafeBufferPointer<VAConfigAttrib>) throws(DriverError) {
    for index in wanted.indices {
      let attribute = unsafe wanted[index]
      guard let offer = Self.offered(attribute.type) else { throw .attributeNotSupported }
      guard attribute.value & offer != 0 else { throw .unsupportedFormat }
    }
  }
}

/// One video processor of the client's.
final class ProcessContext {
  var target: Surface?
  /// What was rendered since the picture was begun.
  var request: (job: ProcessJob, source: Surface)?
  /// Kept from picture to picture, as jobs seldom change.
  private var processor: PictureProcessor?

  /// Does what was asked for.
  func process(_ job: ProcessJob, from source: Surface, to target: Surface) throws(DriverError) {
    let ready: PictureProcessor
    if let processor, processor.job == job {
      ready = processor
    } else {
      processor = nil
      ready = try PictureProcessor(job: job)
      processor = ready
    }
    try ready.run(from: source, to: target)
  }
}
