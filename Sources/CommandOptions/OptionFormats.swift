/// How people write sizes, rates and times in options.
package enum OptionFormat {
  /// `1920x1080`, each side 1 to 16384.
  package static func size(_ text: String) -> (width: Int, height: Int)? {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
      (1...16384).contains(width), (1...16384).contains(height)
    else { return nil }
    return (width, height)
  }

  /// What a preset may be high; all are 16:9.
  package static let presetHeights = "360, 480, 540, 720, 1080, 1440 or 2160"

  /// `1080p30`: a picture of 1920x1080, 30 times a second.
  package static func preset(
    _ text: String
  ) -> (width: Int, height: Int, framesPerSecond: Int)? {
    let parts = text.split(separator: "p", omittingEmptySubsequences: false)
    let widths = [360: 640, 480: 854, 540: 960, 720: 1280, 1080: 1920, 1440: 2560, 2160: 3840]
    guard parts.count == 2, let height = Int(parts[0]), let width = widths[height],
      let rate = Int(parts[1]), (1...240).contains(rate)
    else { return nil }
    return (width, height, rate)
  }

  /// Bits a second: `6000000`, `800k`, `6M`, `2.5M`.
  package static func bitrate(_ text: String) -> Int? {
    scaled(text, units: ["k": 1_000, "K": 1_000, "M": 1_000_000])
  }

  /// Bytes: `52428800`, `50MiB`, `512KiB`.
  package static func byteCount(_ text: String) -> Int? {
    scaled(text, units: ["KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30])
  }

  /// Whole seconds, 0 or more.
  package static func seconds(_ text: String) -> Int? {
    guard let value = Int(text), value >= 0, value <= 1_000_000_000 else { return nil }
    return value
  }

  private static func scaled(_ text: String, units: [String: Int]) -> Int? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = String(text.dropFirst(digits.count))
    guard let factor = unit.isEmpty ? 1 : units[unit], let number = Double(digits) else {
      return nil
    }
    let value = number * Double(factor)
    guard value >= 1, value <= 1e12, value == value.rounded() else { return nil }
    return Int(value)
  }
}
