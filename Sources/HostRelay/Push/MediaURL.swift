/// An address with a scheme, as ffmpeg reads it: cut into its parts, nothing decoded.
struct MediaURL: Equatable {
  /// In lower case.
  let scheme: String
  /// What stands before an `@`.
  let user: String?
  /// Host and port.
  let authority: String
  /// Empty, or from its slash on.
  let path: String
  /// Behind the first `?`.
  let query: String

  /// nil without a scheme, or where blanks or control characters are in it.
  init?(_ text: String) {
    guard let colon = text.firstRange(of: "://"), colon.lowerBound > text.startIndex,
      text[..<colon.lowerBound].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }),
      text.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value != 127 })
    else { return nil }
    scheme = text[..<colon.lowerBound].lowercased()
    let rest = text[colon.upperBound...]
    let pathStart = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let host = rest[..<pathStart]
    let at = host.lastIndex(of: "@")
    user = at.map { String(host[..<$0]) }
    authority = String(at.map { host[host.index(after: $0)...] } ?? host)
    guard !authority.isEmpty else { return nil }
    let mark = rest[pathStart...].firstIndex(of: "?")
    path = String(rest[pathStart..<(mark ?? rest.endIndex)])
    query = String(mark.map { rest[rest.index(after: $0)...] } ?? "")
  }

  /// The query's `name=value`, apart by `&`.
  var parameters: [(name: String, value: String)] {
    query.split(separator: "&").map { part in
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (String(sides[0]), sides.count > 1 ? String(sides[1]) : "")
    }
  }

  /// `text` with %XX taken for the byte that it stands for.
  static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
