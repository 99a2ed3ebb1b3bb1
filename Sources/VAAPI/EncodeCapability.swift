import CVA

/// H.264 profiles in libva's words.
package enum Profile: String, Sendable {
  case constrainedBaseline = "constrained-baseline"
  case main
  case high

  var value: VAProfile {
    switch self {
    case .constrainedBaseline: VAProfileH264ConstrainedBaseline
    case .main: VAProfileH264Main
    case .high: VAProfileH264High
    }
  }
}

/// How a driver takes pictures: by the full encoder, or by the fixed-function low-power one.
package enum Entrypoint: Sendable {
  case encSlice
  case encSliceLP

  var value: VAEntrypoint {
    switch self {
    case .encSlice: VAEntrypointEncSlice
    case .encSliceLP: VAEntrypointEncSliceLP
    }
  }
}

/// Rate control modes, bits of VAConfigAttribRateControl.
package struct RateControlModes: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let cbr = RateControlModes(rawValue: UInt32(VA_RC_CBR))
  package static let vbr = RateControlModes(rawValue: UInt32(VA_RC_VBR))
  package static let cqp = RateControlModes(rawValue: UInt32(VA_RC_CQP))
}

/// Headers that a driver takes from us, bits of VAConfigAttribEncPackedHeaders.
package struct PackedHeaders: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// SPS and PPS.
  package static let sequence = PackedHeaders(rawValue: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
  package static let slice = PackedHeaders(rawValue: UInt32(VA_ENC_PACKED_HEADER_SLICE))
}

/// What a driver says about encoding with one profile at one entrypoint.
package struct EncodeCapability: Sendable {
  package let profile: Profile
  package let entrypoint: Entrypoint
  package let rateControl: RateControlModes
  package let packedHeaders: PackedHeaders
  /// Nil where the driver states no limit.
  package let maxWidth: Int?
  package let maxHeight: Int?
  package let minWidth: Int?
  package let minHeight: Int?
}

extension Display {
  /// What the driver offers for `profile` at `entrypoint`; nil when it does not encode that, or
  /// not from 4:2:0 surfaces.
  package func encodeCapability(
    profile: Profile, entrypoint: Entrypoint
  ) throws(VAError) -> EncodeCapability? {
    guard try entrypoints(of: profile).contains(entrypoint.value) else { return nil }
    let types = [
      VAConfigAttribRTFormat, VAConfigAttribRateControl, VAConfigAttribEncPackedHeaders,
      VAConfigAttribMaxPictureWidth, VAConfigAttribMaxPictureHeight,
    ]
    var attributes = types.map { VAConfigAttrib(type: $0, value: VA_ATTRIB_NOT_SUPPORTED) }
    try unsafe check(
      vaGetConfigAttributes(
        handle, profile.value, entrypoint.value, &attributes, Int32(attributes.count)),
      "vaGetConfigAttributes")
    let values = attributes.map { $0.value == VA_ATTRIB_NOT_SUPPORTED ? nil : $0.value }
    guard (values[0] ?? 0) & UInt32(VA_RT_FORMAT_YUV420) != 0 else { return nil }
    let least = leastSurface(profile: profile, entrypoint: entrypoint)
    return EncodeCapability(
      profile: profile, entrypoint: entrypoint,
      // A driver without the attribute has the one mode that needs none.
      rateControl: RateControlModes(rawValue: values[1] ?? RateControlModes.cqp.rawValue),
      packedHeaders: PackedHeaders(rawValue: values[2] ?? 0),
      maxWidth: values[3].map(Int.init), maxHeight: values[4].map(Int.init),
      minWidth: least.width, minHeight: least.height)
  }

  /// Any H.264 encoder of this display, for deciding whether it is worth opening.
  func firstH264Encoder() -> EncodeCapability? {
    for profile in [Profile.constrainedBaseline, .main, .high] {
      for entrypoint in [Entrypoint.encSliceLP, .encSlice] {
        if let found = try? encodeCapability(profile: profile, entrypoint: entrypoint) {
          return found
        }
      }
    }
    return nil
  }

  /// The smallest surface to encode from, where the driver states one: no encoder attribute does.
  private func leastSurface(
    profile: Profile, entrypoint: Entrypoint
  ) -> (width: Int?, height: Int?) {
    var config: VAConfigID = 0
    guard
      unsafe vaCreateConfig(handle, profile.value, entrypoint.value, nil, 0, &config)
        == VA_STATUS_SUCCESS
    else { return (nil, nil) }
    defer { unsafe vaDestroyConfig(handle, config) }
    var count: UInt32 = 0
    guard unsafe vaQuerySurfaceAttributes(handle, config, nil, &count) == VA_STATUS_SUCCESS else {
      return (nil, nil)
    }
    var attributes = unsafe [VASurfaceAttrib](repeating: VASurfaceAttrib(), count: Int(count))
    guard
      unsafe vaQuerySurfaceAttributes(handle, config, &attributes, &count) == VA_STATUS_SUCCESS
    else { return (nil, nil) }
    func value(of type: VASurfaceAttribType) -> Int? {
      let found = unsafe attributes.prefix(Int(count)).first { unsafe $0.type == type }
      return unsafe found.map { unsafe Int($0.value.value.i) }
    }
    return (value(of: VASurfaceAttribMinWidth), value(of: VASurfaceAttribMinHeight))
  }

  private func entrypoints(of profile: Profile) throws(VAError) -> [VAEntrypoint] {
    var profiles = [VAProfile](
      repeating: VAProfileNone, count: Int(unsafe max(vaMaxNumProfiles(handle), 1)))
    var count: Int32 = 0
    try unsafe check(
      vaQueryConfigProfiles(handle, &profiles, &count), "vaQueryConfigProfiles")
    guard profiles.prefix(Int(count)).contains(profile.value) else { return [] }
    var entrypoints = [VAEntrypoint](
      repeating: VAEntrypointVLD, count: Int(unsafe max(vaMaxNumEntrypoints(handle), 1)))
    try unsafe check(
      vaQueryConfigEntrypoints(handle, profile.value, &entrypoints, &count),
      "vaQueryConfigEntrypoints")
    return Array(entrypoints.prefix(Int(count)))
  }
}
