internal import CVA

/// What the driver offers for one profile at one entrypoint.
struct EncodeOffer {
  let profile: VAProfile
  let entrypoint: VAEntrypoint
  let personality: Personality

  /// A supported attribute's value, as `vaGetConfigAttributes` gives it.
  func value(of type: VAConfigAttribType) -> UInt32? {
    if type == VAConfigAttribRTFormat { return UInt32(VA_RT_FORMAT_YUV420) }
    guard entrypoint != VAEntrypointVLD else { return nil }
    return switch type {
    case VAConfigAttribRateControl: personality.rateControl(of: entrypoint)
    case VAConfigAttribEncPackedHeaders: personality.packedHeaders.rawValue
    case VAConfigAttribEncInterlaced: UInt32(VA_ENC_INTERLACED_NONE)
    case VAConfigAttribEncMaxRefFrames: 1
    case VAConfigAttribEncMaxSlices: 1
    case VAConfigAttribMaxPictureWidth, VAConfigAttribMaxPictureHeight:
      UInt32(EncodeConfig.largestSide)
    default: nil
    }
  }
}

/// What a client chose of an offer.
final class EncodeConfig {
  /// The profiles that can be encoded, simplest first.
  static let profiles = EncodeProfile.allCases.map(\.value)
  /// Samples; level 5.1 holds 4096 by 2304 of them, and no screen of today has more.
  static let largestSide = 4096

  let profile: VAProfile
  let entrypoint: VAEntrypoint
  let attributes: [VAConfigAttrib]
  /// One bit of VAConfigAttribRateControl.
  let rateControl: UInt32
  let promisedHeaders: PackedHeaderKinds
  let personality: Personality

  /// Refuses an attribute that is not offered and a value wider than the offer.
  init(
    wanted: UnsafeBufferPointer<VAConfigAttrib>, of offer: EncodeOffer
  ) throws(DriverError) {
    var rateControl = UInt32(VA_RC_CQP)
    var headers: PackedHeaderKinds = []
    for index in wanted.indices {
      let attribute = unsafe wanted[index]
      guard let value = offer.value(of: attribute.type) else {
        throw .attributeNotSupported.because("a config attribute that is not offered")
      }
      switch attribute.type {
      case VAConfigAttribRTFormat:
        guard attribute.value & value != 0 else { throw .unsupportedFormat }
      case VAConfigAttribRateControl:
        guard attribute.value & ~value == 0, attribute.value.nonzeroBitCount == 1 else {
          throw .invalidValue.because("rate control that is not offered, or not one mode")
        }
        rateControl = attribute.value
      case VAConfigAttribEncPackedHeaders:
        guard attribute.value & ~value == 0 else {
          throw .invalidValue.because("packed headers that are not offered")
        }
        headers = PackedHeaderKinds(rawValue: attribute.value)
      default:
        guard attribute.value <= value else {
          throw .invalidValue.because("more than a config attribute offers")
        }
      }
    }
    profile = offer.profile
    entrypoint = offer.entrypoint
    personality = offer.personality
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
