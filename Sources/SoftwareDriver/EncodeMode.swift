internal import Glibc

/// How pictures are coded; `PORTHOLE_DRIVER_MODE` chooses.
enum EncodeMode: String {
  /// Intra 16x16, whole-pixel motion and residuals: what a viewer gets.
  case lossy
  /// I_PCM and P_Skip: every decoded picture equals its source, for tests of the whole path.
  case lossless
}

/// The vendor string in memory that lives as long as the driver, as libva keeps the pointer.
@safe final class VendorString {
  let pointer: UnsafeMutablePointer<CChar>

  init(options: DriverOptions) {
    var text = "Porthole software encoder (CPU) 0.1, H.264, \(options.mode.rawValue)"
    if !options.personality.name.isEmpty { text += ", behaving as \(options.personality.name)" }
    unsafe pointer = strdup(text)
  }

  deinit { unsafe free(pointer) }
}
