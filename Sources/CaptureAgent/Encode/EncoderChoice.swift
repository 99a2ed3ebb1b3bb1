import VAAPI

/// Which of the driver's encoders is used, and how: found by asking, never assumed.
struct EncoderChoice: Sendable {
  let capability: EncodeCapability
  /// One mode.
  let rateControl: RateControlModes
  /// What the driver takes of what we write.
  let packedHeaders: PackedHeaders
  /// What is not as it was asked for, one line each.
  let warnings: [String]

  /// Looks for `profile` first and for constant bit rate first; gives way in both rather than fail.
  init(on display: Display, profile: Profile) throws(EncoderError) {
    let found: [EncodeCapability]
    do throws(VAError) {
      found = try Self.capabilities(of: display, preferring: profile)
    } catch {
      throw .unavailable("\(display.vendor): \(error)")
    }
    guard let first = found.first else {
      throw .unavailable(
        "\(display.vendor) does not encode H.264: is it a build without its encoders?")
    }
    // Intel's low-power encoder without its firmware offers constant quantisers only.
    let controlled = found.first {
      $0.profile == first.profile && !$0.rateControl.isDisjoint(with: [.cbr, .vbr])
    }
    capability = controlled ?? first
    packedHeaders = capability.packedHeaders.intersection([.sequence, .slice])
    var warnings: [String] = []
    if capability.profile != profile {
      warnings.append(
        "the driver has no profile \(profile.rawValue): \(capability.profile.rawValue)")
    }
    if capability.rateControl.contains(.cbr) {
      rateControl = .cbr
    } else if capability.rateControl.contains(.vbr) {
      rateControl = .vbr
    } else {
      rateControl = .cqp
      warnings.append(
        "the driver controls no bit rate: constant quantiser \(RateControl.constantQP) "
          + "(on Intel, rate control needs the HuC firmware)")
    }
    self.warnings = warnings
  }

  /// All encoders of the first profile that has any; the low-power entrypoint first.
  private static func capabilities(
    of display: Display, preferring wanted: Profile
  ) throws(VAError) -> [EncodeCapability] {
    let others = [Profile.constrainedBaseline, .main, .high].filter { $0 != wanted }
    for profile in [wanted] + others {
      var found: [EncodeCapability] = []
      for entrypoint in [Entrypoint.encSliceLP, .encSlice] {
        if let one = try display.encodeCapability(profile: profile, entrypoint: entrypoint) {
          found.append(one)
        }
      }
      if !found.isEmpty { return found }
    }
    return []
  }
}

extension EncodeCapability {
  /// Refuses what the driver says it cannot encode.
  func checkSize(of configuration: EncoderConfiguration) throws(EncoderError) {
    let width = configuration.codedWidth
    let height = configuration.codedHeight
    let maxWidth = maxWidth ?? width
    let maxHeight = maxHeight ?? height
    if width > maxWidth || height > maxHeight {
      throw .unavailable(
        "the driver encodes up to \(maxWidth)x\(maxHeight), not \(width)x\(height)")
    }
    let minWidth = minWidth ?? 0
    let minHeight = minHeight ?? 0
    if width < minWidth || height < minHeight {
      throw .unavailable(
        "the driver encodes from \(minWidth)x\(minHeight) on, not \(width)x\(height)")
    }
  }
}
