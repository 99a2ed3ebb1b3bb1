/// What a request wants of a file (RFC 9110, 14): one range of its bytes, or all.
enum ByteRange: Equatable {
  case whole
  case part(Range<Int>)
  /// Behind the file's end.
  case unsatisfiable

  /// Reads a `Range` field. What cannot be read, and more than one range, is all of the file.
  init(_ field: String, of byteCount: Int) {
    self = .whole
    let unit = "bytes="
    guard field.hasPrefix(unit), !field.contains(",") else { return }
    let sides = field.dropFirst(unit.count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2 else { return }
    if sides[0].isEmpty {
      guard let count = Self.number(sides[1]) else { return }
      self =
        count == 0 || byteCount == 0
        ? .unsatisfiable : .part(max(0, byteCount - count)..<byteCount)
    } else if let first = Self.number(sides[0]) {
      let last = sides[1].isEmpty ? .max : Self.number(sides[1])
      guard let last, last >= first else { return }
      self =
        first >= byteCount ? .unsatisfiable : .part(first..<min(last, byteCount - 1) + 1)
    }
  }

  private static func number(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { (48...57).contains($0) } ? Int(digits) : nil
  }
}
