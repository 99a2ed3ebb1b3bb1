/// A value as JSON (RFC 8259) writes it; objects keep the order they are given.
enum JSONText {
  case text(String)
  case number(Int)
  case decimal(Double)
  case truth(Bool)
  case none
  case list([JSONText])
  case object([(String, JSONText)])

  static func optional(_ text: String?) -> JSONText { text.map(JSONText.text) ?? .none }

  /// The value in one line.
  var encoded: String {
    switch self {
    case .text(let text): Self.quoted(text)
    case .number(let number): String(number)
    case .decimal(let number): number.isFinite ? String(number) : "null"
    case .truth(let isTrue): isTrue ? "true" : "false"
    case .none: "null"
    case .list(let values): "[" + values.map(\.encoded).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0) + ":" + $1.encoded }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case _ where scalar.value < 32 || scalar.value == 127:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
