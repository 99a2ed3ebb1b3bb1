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
  /// Constant quality: a quality factor and no bound.
  package static let icq = RateControlModes(rawValue: UInt32(VA_RC_ICQ))
  /// A quality factor, within a bit rate.
  package static let qvbr = RateControlModes(rawValue: UInt32(VA_RC_QVBR))
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
  /// Whether a configuration may say which mode; a driver refuses an attribute that it has not.
  package var namesRateControl = true
  package let packedHeaders: PackedHeaders
  /// Nil where the driver states no limit.
  package let maxWidth: Int?
  package let maxHeight: Int?
  package let minWidth: Int?
  package let minHeight: Int?
  /// Quality levels from 1, the best, to this, the fastest; 0 where there is nothing to choose.
  package var qualityLevels = 0
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
      VAConfigAttribEncQualityRange,
    ]
    var attributes = types.map { VAConfigAttrib(type: $0, value: VA_ATTRIB_NOT_SUPPORTED) }
    try unsafe check(
      vaGetConfigAttributes(
        handle, profile.value, entrypoint.value, &attributes, Int32(attributes.count)),
      "vaGetConfigAttributes")
    let values = attributes.map { $0.value == VA_ATTRIB_NOT_SUPPORTED ? nil : $0.value }
    guard (values[0] ?? 0) & UInt32(VA_RT_FORMAT_YUV420) != 0 else { return nil }
    let surfaces = surfaceAttributes(profile: profile, entrypoint: entrypoint)
    return EncodeCapability(
      profile: profile, entrypoint: entrypoint,
      // A driver without the attribute has the one mode that needs none.
      rateControl: RateControlModes(rawValue: values[1] ?? RateControlModes.cqp.rawValue),
      namesRateControl: values[1] != nil, packedHeaders: PackedHeaders(rawValue: values[2] ?? 0),
      maxWidth: least(values[3].map(Int.init), surfaces.maxWidth),
      maxHeight: least(values[4].map(Int.init), surfaces.maxHeight),
      minWidth: surfaces.minWidth, minHeight: surfaces.minHeight,
      qualityLevels: values[5].map(Int.init) ?? 0)
  }

  /// Whether the driver decodes H.264: then it is there, and only its encoder is missing.
  package var decodesH264: Bool {
    [Profile.constrainedBaseline, .main, .high].contains { profile in
      (try? entrypoints(of: profile))?.contains(VAEntrypointVLD) ?? false
    }
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

  /// What surfaces the encoder works on; all unknown where the driver does not say.
  private func surfaceAttributes(profile: Profile, entrypoint: Entrypoint) -> SurfaceAttributes {
    var config: VAConfigID = 0
    guard
      unsafe vaCreateConfig(handle, profile.value, entrypoint.value, nil, 0, &config)
        == VA_STATUS_SUCCESS
    else { return SurfaceAttributes() }
    defer { unsafe vaDestroyConfig(handle, config) }
    return SurfaceAttributes(of: config, on: self)
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

/// The smaller of two bounds, of which each may be unknown.
private func least(_ one: Int?, _ other: Int?) -> Int? {
  guard let one, let other else { return one ?? other }
  return min(one, other)
}
