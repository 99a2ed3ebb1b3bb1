internal import CVA

/// The H.264 profiles that are offered, simplest first.
enum EncodeProfile: CaseIterable {
  case constrainedBaseline, main, high

  /// nil for a profile of libva's that is not offered.
  init?(_ profile: VAProfile) {
    guard let found = Self.allCases.first(where: { $0.value == profile }) else { return nil }
    self = found
  }

  var value: VAProfile {
    switch self {
    case .constrainedBaseline: VAProfileH264ConstrainedBaseline
    case .main: VAProfileH264Main
    case .high: VAProfileH264High
    }
  }

  /// profile_idc.
  var idc: UInt8 {
    switch self {
    case .constrainedBaseline: 66
    case .main: 77
    case .high: 100
    }
  }

  /// constraint_set0_flag and those that follow, from the highest bit on.
  var constraintFlags: UInt8 {
    switch self {
    case .constrainedBaseline: 0xc0
    case .main: 0x40
    case .high: 0
    }
  }

  /// Clause A.2.1 leaves CABAC out of Baseline.
  var hasCABAC: Bool { self != .constrainedBaseline }

  /// Whether transform_8x8_mode_flag may be set; macroblocks still have 4x4 transforms.
  var has8x8Transform: Bool { self == .high }
}
