internal import CVA

/// What this encoder offers, and what a client chose of it.
final class EncodeConfig {
  /// Samples; level 5.1 holds 4096 by 2304 of them, and no screen of today has more.
  static let largestSide = 4096

  /// A supported attribute's value, as `vaGetConfigAttributes` gives it.
  static func offered(_ type: VAConfigAttribType) -> UInt32? {
    switch type {
    case VAConfigAttribRTFormat: UInt32(VA_RT_FORMAT_YUV420)
    case VAConfigAttribRateControl: UInt32(VA_RC_CQP | VA_RC_CBR | VA_RC_VBR)
    case VAConfigAttribEncPackedHeaders: PackedHeaderKinds.all.rawValue
    case VAConfigAttribEncInterlaced: UInt32(VA_ENC_INTERLACED_NONE)
    case VAConfigAttribEncMaxRefFrames: 1
    case VAConfigAttribEncMaxSlices: 1
    case VAConfigAttribMaxPictureWidth, VAConfigAttribMaxPictureHeight: UInt32(largestSide)
    default: nil
    }
  }

  let attributes: [VAConfigAttrib]
  let rateControl: UInt32
  let promisedHeaders: PackedHeaderKinds

  /// Refuses an attribute that is not offered and a value wider than the offer.
  init(wanted: UnsafeBufferPointer<VAConfigAttrib>) throws(DriverError) {
    var rateControl = UInt32(VA_RC_CQP)
    var headers: PackedHeaderKinds = []
    for index in wanted.indices {
      let attribute = unsafe wanted[index]
      guard let offer = Self.offered(attribute.type) else { throw .attributeNotSupported }
      switch attribute.type {
      case VAConfigAttribRTFormat:
        guard attribute.value & offer != 0 else { throw .unsupportedFormat }
      case VAConfigAttribRateControl:
        guard attribute.value & ~offer == 0, attribute.value.nonzeroBitCount == 1 else {
          throw .invalidValue
        }
        rateControl = attribute.value
      case VAConfigAttribEncPackedHeaders:
        guard attribute.value & ~offer == 0 else { throw .invalidValue }
        headers = PackedHeaderKinds(rawValue: attribute.value)
      default:
        guard attribute.value <= offer else { throw .invalidValue }
      }
    }
    self.rateControl = rateControl
    promisedHeaders = headers
    attributes = [
      VAConfigAttrib(type: VAConfigAttribRTFormat, value: UInt32(VA_RT_FORMAT_YUV420)),
      VAConfigAttrib(type: VAConfigAttribRateControl, value: rateControl),
      VAConfigAttrib(type: VAConfigAttribEncPackedHeaders, value: headers.rawValue),
    ]
  }
}

/// The header kinds that a client may bring itself, in libva's bits.
struct PackedHeaderKinds: OptionSet {
  let rawValue: UInt32

  static let sequence = PackedHeaderKinds(rawValue: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
  static let picture = PackedHeaderKinds(rawValue: UInt32(VA_ENC_PACKED_HEADER_PICTURE))
  static let slice = PackedHeaderKinds(rawValue: UInt32(VA_ENC_PACKED_HEADER_SLICE))
  static let misc = PackedHeaderKinds(rawValue: UInt32(VA_ENC_PACKED_HEADER_MISC))
  static let raw = PackedHeaderKinds(rawValue: UInt32(VA_ENC_PACKED_HEADER_RAW_DATA))
  static let all: PackedHeaderKinds = [.sequence, .picture, .slice, .misc, .raw]
}
