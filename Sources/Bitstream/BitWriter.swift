/// Writes the syntax elements of H.264 clause 7.2 and 9.1 into bytes, most significant bit first.
package struct BitWriter: Sendable {
  /// The whole bytes written so far; up to seven bits more wait in `pending`.
  package private(set) var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var pendingCount = 0

  package init(capacity: Int = 64) {
    bytes.reserveCapacity(capacity)
  }

  /// How many bits have been written.
  package var bitCount: Int { bytes.count * 8 + pendingCount }

  /// Forgets what was written and keeps the memory.
  package mutating func reset() {
    bytes.removeAll(keepingCapacity: true)
    pending = 0
    pendingCount = 0
  }

  /// u(n): the low `bits` bits of `value`, 0 to 32 of them.
  package mutating func put(_ value: UInt32, bits: Int) {
    precondition((0...32).contains(bits), "a syntax element has 0 to 32 bits")
    guard bits > 0 else { return }
    let mask = UInt64(UInt32.max) >> UInt64(32 - bits)
    pending = pending << UInt64(bits) | UInt64(value) & mask
    pendingCount += bits
    while pendingCount >= 8 {
      pendingCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: pending >> UInt64(pendingCount)))
    }
  }

  package mutating func put(_ flag: Bool) { put(flag ? 1 : 0, bits: 1) }

  /// ue(v), clause 9.1. `value` is below `UInt32.max`, the largest that the syntax can say.
  package mutating func putUE(_ value: UInt32) {
    precondition(value < .max, "ue(v) ends at 2^32 - 2")
    let code = value + 1
    let length = 32 - code.leadingZeroBitCount
    put(0, bits: length - 1)
    put(code, bits: length)
  }

  /// se(v), clause 9.1.1.
  package mutating func putSE(_ value: Int32) {
    putUE(value > 0 ? UInt32(value) * 2 - 1 : value.magnitude * 2)
  }

  /// rbsp_trailing_bits(), clause 7.3.2.11: a one, then zeros up to the byte.
  package mutating func putTrailingBits() {
    put(true)
    alignWithZeros()
  }

  /// cabac_alignment_one_bit, clause 7.3.4: ones up to the next byte.
  package mutating func alignWithOnes() {
    while pendingCount > 0 { put(true) }
  }

  /// Zeros up to the next byte.
  package mutating func alignWithZeros() {
    if pendingCount > 0 { put(0, bits: 8 - pendingCount) }
  }
}
