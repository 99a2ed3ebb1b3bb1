/// Writes NAL units into a coded buffer, emulation prevention (clause 7.4.1.1) included, most
/// significant bit first. What does not fit is dropped and `hasOverflowed` says so.
///
/// A plain value: a copy taken before a macroblock takes its bits back when assigned again.
@safe struct BitSink {
  private let start: UnsafeMutablePointer<UInt8>
  private let end: UnsafeMutablePointer<UInt8>
  private var next: UnsafeMutablePointer<UInt8>
  private var pending: UInt64 = 0
  private var pendingCount = 0
  /// Zero bytes at the end of what was written of the NAL unit.
  private var zeroCount = 0
  private(set) var hasOverflowed = false

  /// `capacity` bytes from `start` on, which stay the caller's and must outlive every copy.
  @unsafe init(start: UnsafeMutablePointer<UInt8>, capacity: Int) {
    unsafe self.start = start
    unsafe end = start + capacity
    unsafe next = start
  }

  /// Bytes written so far, without the bits still pending.
  var byteCount: Int { unsafe next - start }

  /// Bits so far, the pending ones and those of emulation prevention included.
  var bitCount: Int { byteCount &* 8 &+ pendingCount }

  /// u(n): `value` has `bits` bits, at most 32, and nothing above them.
  @inline(__always) mutating func put(_ value: UInt32, bits: Int) {
    pending = pending &<< UInt64(bits) | UInt64(value)
    pendingCount &+= bits
    if pendingCount >= 32 { flushWord() }
  }

  /// The first `bitCount` bits of `bytes`.
  mutating func put(_ bytes: [UInt8], bitCount: Int) {
    var left = bitCount
    for byte in bytes where left > 0 {
      let count = min(8, left)
      put(UInt32(byte >> UInt8(8 - count)), bits: count)
      left -= count
    }
  }

  /// ue(v), clause 9.1, for values below 65,535.
  @inline(__always) mutating func putUE(_ value: Int) {
    let code = UInt32(truncatingIfNeeded: value &+ 1)
    put(code, bits: 63 &- 2 &* code.leadingZeroBitCount)
  }

  /// se(v), clause 9.1.1, for magnitudes below 32,768.
  @inline(__always) mutating func putSE(_ value: Int) {
    putUE(value > 0 ? 2 &* value &- 1 : -2 &* value)
  }

  /// A start code and the byte behind it, as they are.
  mutating func beginUnit(header: UInt8) {
    assert(pendingCount == 0, "the NAL unit before has not ended")
    for _ in 0..<3 { store(0) }
    store(1)
    store(header)
    zeroCount = 0
  }

  /// One byte as it is, for headers that bring their own emulation prevention.
  mutating func putRaw(_ byte: UInt8) {
    store(byte)
    zeroCount = 0
  }

  /// rbsp_trailing_bits(), clause 7.3.2.11.
  mutating func endUnit() {
    put(1, bits: 1)
    alignWithZeros()
    flushUnit()
  }

  /// Ends a NAL unit whose trailing bits were put already; whole bytes only.
  mutating func flushUnit() {
    while pendingCount > 0 {
      pendingCount -= 8
      escape(UInt8(truncatingIfNeeded: pending >> UInt64(pendingCount)))
    }
    pending = 0
    zeroCount = 0
  }

  /// cabac_alignment_one_bit, as many as there need to be.
  mutating func alignWithOnes() {
    let missing = -pendingCount & 7
    if missing > 0 { put(1 << UInt32(missing) - 1, bits: missing) }
  }

  /// The same with zeros, as before I_PCM samples (pcm_alignment_zero_bit).
  mutating func alignWithZeros() {
    let missing = -pendingCount & 7
    if missing > 0 { put(0, bits: missing) }
  }

  @inline(__always) private mutating func flushWord() {
    pendingCount &-= 32
    let word = UInt32(truncatingIfNeeded: pending &>> UInt64(pendingCount))
    let hasZeroByte = (word &- 0x0101_0101) & ~word & 0x8080_8080 != 0
    if zeroCount == 0, !hasZeroByte, unsafe end - next >= 4 {
      unsafe UnsafeMutableRawPointer(next).storeBytes(of: word.bigEndian, as: UInt32.self)
      unsafe next += 4
    } else {
      escapeWord(word)
    }
  }

  @inline(never) private mutating func escapeWord(_ word: UInt32) {
    for shift: UInt32 in [24, 16, 8, 0] { escape(UInt8(truncatingIfNeeded: word >> shift)) }
  }

  private mutating func escape(_ byte: UInt8) {
    if zeroCount >= 2, byte <= 3 {
      store(3)
      zeroCount = 0
    }
    store(byte)
    zeroCount = byte == 0 ? zeroCount + 1 : 0
  }

  private mutating func store(_ byte: UInt8) {
    guard unsafe next < end else {
      hasOverflowed = true
      return
    }
    unsafe next.pointee = byte
    unsafe next += 1
  }
}
