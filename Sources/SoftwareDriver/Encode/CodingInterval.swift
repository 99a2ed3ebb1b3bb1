/// The interval of CABAC's arithmetic encoder (clause 9.3.4.2). Bits leave it in words of 32.
struct CodingInterval: BitwiseCopyable {
  /// codILow's ten bits, above them the bits that wait, above those room for a carry.
  private var low: UInt64 = 0
  /// codIRange, from 256 to 510.
  private(set) var range: UInt32 = 510
  /// Bits that wait; the very first is never written.
  private(set) var waiting = -1

  @inline(__always)
  mutating func put(
    _ odds: CABACStates.Odds, _ words: inout HeldWords, _ sink: inout BitSink
  ) {
    // Without a branch, as a bin is hard to foretell. What is more probable is at least half of 256.
    let more = range &- (odds.part & 0xff)
    let moreShift = more &>> 8 ^ 1
    let moreRange = more &+ (more & (0 &- moreShift))
    range = moreRange ^ ((moreRange ^ odds.part &>> 16) & odds.isLess)
    let shift = moreShift ^ ((moreShift ^ odds.part &>> 8) & odds.isLess & 7)
    low = (low &+ UInt64(more & odds.isLess)) &<< UInt64(shift)
    wait(Int(shift), &words, &sink)
  }

  /// Codes `count` bins that are as likely 0 as 1, at most 16, most significant first.
  @inline(__always)
  mutating func putBypass(
    _ bins: UInt32, count: Int, _ words: inout HeldWords, _ sink: inout BitSink
  ) {
    low = low &<< UInt64(truncatingIfNeeded: count) &+ UInt64(bins) &* UInt64(range)
    wait(count, &words, &sink)
  }

  /// A bin that would end the code, being 0.
  @inline(__always)
  mutating func putContinuation(_ words: inout HeldWords, _ sink: inout BitSink) {
    range &-= 2
    guard range < 256 else { return }
    range &<<= 1
    low &<<= 1
    wait(1, &words, &sink)
  }

  /// The same being 1: writes all that waits. The last bit is a one.
  mutating func finish(_ words: inout HeldWords, _ sink: inout BitSink) {
    low = (low &+ UInt64(range &- 2)) &<< 7
    wait(7, &words, &sink)
    let rest = low >> 7 | 1
    let count = waiting + 3
    words.release(carry: UInt32(truncatingIfNeeded: rest >> UInt64(count)), into: &sink)
    for bit in (0..<count).reversed() {
      sink.put(UInt32(truncatingIfNeeded: rest >> UInt64(bit)) & 1, bits: 1)
    }
  }

  /// Counts bits that `low` moved up, and lets a word of them go.
  @inline(__always)
  private mutating func wait(_ more: Int, _ words: inout HeldWords, _ sink: inout BitSink) {
    waiting &+= more
    guard waiting >= 32 else { return }
    waiting &-= 32
    let place = UInt64(truncatingIfNeeded: waiting &+ 10)
    words.put(low &>> place, into: &sink)
    low &= 1 &<< place &- 1
  }
}

/// Words that a carry may still change: the last one that is not all ones, and how many of ones
/// followed it, since a carry would run through them.
struct HeldWords: BitwiseCopyable {
  private var held: UInt32 = 0
  private var hasHeld = false
  private var onesCount = 0

  var bitCount: Int { 32 &* (onesCount &+ (hasHeld ? 1 : 0)) }

  /// Takes the next word, a carry into the words before it at bit 32.
  @inline(never)
  mutating func put(_ word: UInt64, into sink: inout BitSink) {
    let bits = UInt32(truncatingIfNeeded: word)
    // What a carry came out of is less than half: no word of ones.
    guard bits != .max else {
      onesCount &+= 1
      return
    }
    release(carry: UInt32(truncatingIfNeeded: word &>> 32), into: &sink)
    held = bits
    hasHeld = true
  }

  /// Writes what was held, with a carry of 0 or 1.
  mutating func release(carry: UInt32, into sink: inout BitSink) {
    if hasHeld { sink.put(held &+ carry, bits: 32) }
    hasHeld = false
    while onesCount > 0 {
      sink.put(carry == 0 ? .max : 0, bits: 32)
      onesCount &-= 1
    }
  }
}
