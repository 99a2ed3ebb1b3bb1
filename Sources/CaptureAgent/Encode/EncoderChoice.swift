import VAAPI

/// Which of the driver's encoders is used, and how: found by asking, never assumed.
struct EncoderChoice: Sendable {
  let capability: EncodeCapability
  let family: DriverFamily
  /// One mode.
  let rateControl: RateControlModes
  /// What the driver takes of what we write.
  let packedHeaders: PackedHeaders
  /// What is not as it was asked for, one line each.
  let warnings: [String]

  /// Looks for `profile` first, else for the best one, and for a controlled bit rate; gives way in both
  /// rather than fail.
  init(on display: Display, profile: Profile?) throws(EncoderError) {
    let found: [EncodeCapability]
    let family = DriverFamily(vendor: display.vendor)
    do throws(VAError) {
      found = try Self.capabilities(of: display, family, preferring: profile)
    } catch {
      throw .unavailable("\(display.vendor): \(error)")
    }
    guard !found.isEmpty else { throw .unavailable(display.missingEncoder) }
    self.init(among: found, family: family, profile: profile)
  }

  /// Of encoders of one profile, at least one.
  init(among found: [EncodeCapability], family: DriverFamily, profile: Profile?) {
    // Intel's low-power encoder without its firmware offers constant quantisers only: then the full
    // encoder is taken, where there is one.
    let order = Self.order(for: family)
    capability = found.first { !$0.rateControl.isDisjoint(with: order.all) } ?? found[0]
    self.family = family
    packedHeaders = capability.packedHeaders.intersection([.sequence, .slice])
    var warnings: [String] = []
    if let profile, capability.profile != profile {
      warnings.append(
        "the driver has no profile \(profile.rawValue): \(capability.profile.rawValue)")
    }
    let offered = capability.rateControl
    rateControl = order.first { offered.contains($0) } ?? .cqp
    if rateControl == .cqp {
      warnings.append(
        "the driver controls no bit rate: constant quantiser \(RateControl.constantQP)"
          + (family == .intel ? Self.firmwareHint : ""))
    } else if rateControl == .icq {
      warnings.append("the driver bounds no bit rate: constant quality \(RateControl.quality)")
    }
    self.warnings = warnings
  }

  /// The best first. Modes with a quality spend nothing on an idle desktop, and Intel's know a bound
  /// too; Mesa's constant rate with a buffer of a second looks best there.
  private static func order(for family: DriverFamily) -> [RateControlModes] {
    switch family {
    case .intel: [.qvbr, .vbr, .cbr, .icq]
    case .mesa, .software, .other: [.cbr, .vbr, .qvbr, .icq]
    }
  }

  /// How hard Intel's encoder tries: the middle, for a screen must be there at once. What the number
  /// means elsewhere is not settled, so it is not said.
  var qualityLevel: Int? {
    family == .intel && capability.qualityLevels > 1 ? (capability.qualityLevels + 1) / 2 : nil
  }

  /// A keyframe of text is sharper and smaller without the filter between blocks. With the strongest
  /// offsets it sets in where a picture is coarse, so that photographs show no blocks. Other drivers'
  /// encoders were not seen at it.
  var keyframeDeblocking: Int8 { family == .software ? -6 : 0 }

  private static let firmwareHint =
    " (rate control needs the HuC firmware: boot with i915.enable_guc=2, or install "
    + "intel-media-va-driver-non-free)"

  /// All encoders of the first profile that has any; the low-power entrypoint first, which some devices
  /// have alone.
  private static func capabilities(
    of display: Display, _ family: DriverFamily, preferring wanted: Profile?
  ) throws(VAError) -> [EncodeCapability] {
    // CABAC saves bits, but takes a processor's time where there is no other encoder.
    let best: [Profile] =
      family == .software
      ? [.constrainedBaseline, .main, .high] : [.high, .main, .constrainedBaseline]
    let order: [Profile] = (wanted.map { [$0] } ?? []) + best.filter { $0 != wanted }
    for profile in order {
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

extension [RateControlModes] {
  fileprivate var all: RateControlModes { reduce([]) { $0.union($1) } }
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
        "the driver encodes up to \(maxWidth)x\(maxHeight), not \(width)x\(height): "
          + "choose a smaller --size")
    }
    let minWidth = minWidth ?? 0
    let minHeight = minHeight ?? 0
    if width < minWidth || height < minHeight {
      throw .unavailable(
        "the driver encodes from \(minWidth)x\(minHeight) on, not \(width)x\(height): "
          + "choose a larger --size")
    }
  }
}
