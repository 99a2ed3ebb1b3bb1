/// Reads one JSON object (RFC 8259) whose members are texts, numbers, truths or null, or lists of these:
/// all that a control request needs, so nothing nests further and nothing can run deep.
struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func object(_ bytes: [UInt8]) throws(JSONError) -> [String: JSONText] {
    var reader = JSONReader(bytes)
    let members = try reader.readObject()
    reader.skipBlanks()
    guard reader.position == bytes.count else { throw reader.error("the end") }
    return members
  }

  private mutating func readObject() throws(JSONError) -> [String: JSONText] {
    try expect("{")
    var members: [String: JSONText] = [:]
    if take("}") { return members }
    repeat {
      let name = try readText()
      try expect(":")
      members[name] = take("[") ? .list(try readList()) : try readValue()
    } while take(",")
    try expect("}")
    return members
  }

  /// Up to the closing bracket.
  private mutating func readList() throws(JSONError) -> [JSONText] {
    var values: [JSONText] = []
    if take("]") { return values }
    repeat { values.append(try readValue()) } while take(",")
    try expect("]")
    return values
  }

  private mutating func readValue() throws(JSONError) -> JSONText {
    skipBlanks()
    guard position < bytes.count else { throw error("a value") }
    if bytes[position] == UInt8(ascii: "\"") { return .text(try readText()) }
    let start = position
    while position < bytes.count, !",}] \t\r\n".utf8.contains(bytes[position]) { position += 1 }
    let word = String(decoding: bytes[start..<position], as: UTF8.self)
    switch word {
    case "true": return .truth(true)
    case "false": return .truth(false)
    case "null": return .none
    default: break
    }
    let isPlain = word.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    if isPlain, let number = Int(word) { return .number(number) }
    if isPlain, let number = Double(word), number.isFinite { return .decimal(number) }
    position = start
    throw error("a text, a number, true, false or null")
  }

  private mutating func readText() throws(JSONError) -> String {
    try expect("\"")
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: text, as: UTF8.self) else { throw error("UTF-8") }
        return text
      case UInt8(ascii: "\\"): text += Array(try readEscape().utf8)
      case ..<32: throw error("an escape for a control character")
      default: text.append(byte)
      }
    }
    throw error("a closing quote")
  }

  private mutating func readEscape() throws(JSONError) -> String {
    guard position < bytes.count else { throw error("an escape") }
    let letter = bytes[position]
    position += 1
    switch letter {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "u"): return try readUnicode()
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
      return String(UnicodeScalar(letter))
    default: throw error("an escape")
    }
  }

  /// Four digits of UTF-16, or twice four.
  private mutating func readUnicode() throws(JSONError) -> String {
    var units = [try readDigits()]
    if UTF16.isLeadSurrogate(units[0]) {
      guard bytes[position...].starts(with: "\\u".utf8) else { throw error("a surrogate pair") }
      position += 2
      units.append(try readDigits())
    }
    guard let text = String(validating: units, as: UTF16.self) else {
      throw error("a surrogate pair")
    }
    return text
  }

  private mutating func readDigits() throws(JSONError) -> UInt16 {
    let digits = bytes[position...].prefix(4)
    guard digits.count == 4, digits.allSatisfy({ $0 != UInt8(ascii: "+") }),
      let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw error("four digits") }
    position += 4
    return unit
  }

  private mutating func expect(_ character: Character) throws(JSONError) {
    guard take(character) else { throw error("\(character)") }
  }

  private mutating func take(_ character: Character) -> Bool {
    skipBlanks()
    guard position < bytes.count, bytes[position] == character.asciiValue else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while position < bytes.count, " \t\r\n".utf8.contains(bytes[position]) { position += 1 }
  }

  private func error(_ expected: String) -> JSONError {
    JSONError(position: position, expected: expected)
  }
}

/// What is no JSON object of plain values; `position` counts bytes.
struct JSONError: Error, CustomStringConvertible {
  let position: Int
  let expected: String
  var description: String { "JSON: expected \(expected) at byte \(position)" }
}
