/// Writes the fields of a payload one after the other, big-endian.
struct FieldWriter {
  private(set) var bytes: [UInt8]

  /// Leaves room for the header in front, so that the message is one piece of memory.
  init() { bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount) }

  mutating func put<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }

  /// A length of two bytes, then the bytes.
  mutating func put(_ value: [UInt8]) {
    precondition(value.count <= UInt16.max, "a field holds 65,535 bytes")
    put(UInt16(value.count))
    bytes.append(contentsOf: value)
  }

  /// UTF-8, cut before the character that would exceed `WireLimits.text`.
  mutating func put(_ text: String) {
    var kept: [UInt8] = []
    for character in text {
      guard kept.count + character.utf8.count <= WireLimits.text else { break }
      kept.append(contentsOf: character.utf8)
    }
    put(kept)
  }
}

/// Reads the fields of a payload; every length is checked against what is there.
struct FieldReader {
  private let bytes: ArraySlice<UInt8>
  private let kind: MessageKind
  private var position: Int

  init(_ payload: ArraySlice<UInt8>, of kind: MessageKind) {
    bytes = payload
    self.kind = kind
    position = payload.startIndex
  }

  mutating func read<Value: FixedWidthInteger & UnsignedInteger>(
    _ type: Value.Type = Value.self
  ) throws(WireError) -> Value {
    let count = Value.bitWidth / 8
    guard bytes.endIndex - position >= count else { throw .wrongLength(kind) }
    var value: Value = 0
    for _ in 0..<count {
      value = (value &<< 8) | Value(bytes[position])
      position += 1
    }
    return value
  }

  mutating func readBytes(max limit: Int, _ name: String) throws(WireError) -> [UInt8] {
    let count = Int(try read(UInt16.self))
    guard count <= limit else { throw .invalid(name) }
    guard bytes.endIndex - position >= count else { throw .wrongLength(kind) }
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  mutating func readText(_ name: String) throws(WireError) -> String {
    let utf8 = try readBytes(max: WireLimits.text, name)
    guard let text = String(validating: utf8, as: UTF8.self) else { throw .invalid(name) }
    return text
  }

  func end() throws(WireError) {
    guard position == bytes.endIndex else { throw .wrongLength(kind) }
  }
}
