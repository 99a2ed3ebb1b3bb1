/// Reads the syntax elements of H.264 from an RBSP (no emulation prevention bytes in it).
package struct BitReader: Sendable {
  private let bytes: [UInt8]
  private let bitLength: Int
  /// Bits read so far.
  package private(set) var position = 0

  /// Reads at most `bitLength` bits of `bytes`, all of them by default.
  package init(_ bytes: [UInt8], bitLength: Int = .max) {
    self.bytes = bytes
    self.bitLength = min(bitLength, bytes.count * 8)
  }

  /// How many bits are left.
  package var remaining: Int { bitLength - position }

  /// u(n) for 0 to 32 bits.
  package mutating func read(bits: Int) throws(BitstreamError) -> UInt32 {
    precondition((0...32).contains(bits), "a syntax element has 0 to 32 bits")
    guard bits <= remaining else { throw .endOfData }
    var value: UInt32 = 0
    for _ in 0..<bits {
      let byte = bytes[position >> 3]
      value = value << 1 | UInt32(byte >> UInt8(7 - position & 7)) & 1
      position += 1
    }
    return value
  }

  package mutating func readFlag() throws(BitstreamError) -> Bool { try read(bits: 1) == 1 }

  /// ue(v), clause 9.1.
  package mutating func readUE() throws(BitstreamError) -> UInt32 {
    var zeros = 0
    while try !readFlag() {
      zeros += 1
      guard zeros < 32 else { throw .invalid("ue(v) of more than 32 bits") }
    }
    return try (UInt32(1) << UInt32(zeros) - 1) + read(bits: zeros)
  }

  /// ue(v) that must not exceed `limit`; `name` stands in the error.
  package mutating func readUE(
    max limit: UInt32, _ name: String
  ) throws(BitstreamError) -> UInt32 {
    let value = try readUE()
    guard value <= limit else { throw .invalid(name) }
    return value
  }

  /// se(v), clause 9.1.1.
  package mutating func readSE() throws(BitstreamError) -> Int32 {
    let code = Int64(try readUE())
    return Int32(truncatingIfNeeded: code & 1 == 1 ? (code + 1) / 2 : -(code / 2))
  }
}
