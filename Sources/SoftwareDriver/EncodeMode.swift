internal import Glibc

/// How pictures are coded; `PORTHOLE_DRIVER_MODE` chooses.
enum EncodeMode: String {
  /// Intra 16x16, whole-pixel motion and residuals: what a viewer gets.
  case lossy
  /// I_PCM and P_Skip: every decoded picture equals its source, for tests of the whole path.
  case lossless

  /// The mode that the environment asks for; nil for a word that is neither.
  static func fromEnvironment() -> EncodeMode? {
    guard let value = unsafe getenv("PORTHOLE_DRIVER_MODE") else { return .lossy }
    return unsafe EncodeMode(rawValue: String(cString: value))
  }
}

/// The vendor string in memory that lives as long as the driver, as libva keeps the pointer.
@safe final class VendorString {
  let pointer: UnsafeMutablePointer<CChar>

  init(mode: EncodeMode) {
    let text = "Porthole software encoder (CPU) 0.1, H.264 Constrained Baseline, \(mode.rawValue)"
    unsafe pointer = strdup(text)
  }

  deinit { unsafe free(pointer) }
}
