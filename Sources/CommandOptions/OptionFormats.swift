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
