internal import CVA
internal import Glibc

/// What the environment asks of a driver; `docs/encoder.md` lists the variables.
struct DriverOptions {
  var mode = EncodeMode.lossy
  var personality = Personality()
  var faults = Faults()
  /// How long after `vaEndPicture` a picture is ready.
  var delayNanoseconds: UInt64 = 0
  /// Where each reconstruction is appended as NV12 of the display size; for tests.
  var reconstructionPath: String?
  /// Where `vaTerminate` appends one line of what the client never gave back; for tests.
  var leakPath: String?
  /// Surfaces up to this size stay mapped.
  var keptByteCount = SurfacePixels.keptByteCount

  init() {}

  /// `variable` gives a variable of the environment; nil for a word that means nothing.
  init?(variable: (String) -> String?) {
    if let word = variable("PORTHOLE_DRIVER_MODE") {
      guard let mode = EncodeMode(rawValue: word) else { return nil }
      self.mode = mode
    }
    guard let personality = Personality(words: variable("PORTHOLE_DRIVER_PERSONALITY") ?? ""),
      let faults = Faults(text: variable("PORTHOLE_DRIVER_FAULTS") ?? ""),
      let delay = UInt64(variable("PORTHOLE_DRIVER_DELAY") ?? "0"), delay <= 10_000
    else { return nil }
    self.personality = personality
    self.faults = faults
    delayNanoseconds = delay * 1_000_000
    reconstructionPath = variable("PORTHOLE_DRIVER_RECONSTRUCTIONS")
    leakPath = variable("PORTHOLE_DRIVER_LEAKS")
  }

  static func fromEnvironment() -> DriverOptions? {
    DriverOptions { name in
      guard let value = unsafe getenv(name) else { return nil }
      return unsafe String(cString: value)
    }
  }
}
