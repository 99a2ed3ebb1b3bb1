/// The arithmetic encoder of CABAC by the letter of clause 9.3.4, a bit at a time.
package struct ArithmeticEncoder: Sendable {
  /// codILow and codIRange.
  private var low: UInt32 = 0
  private var range: UInt32 = 510
  /// Bits that the next one decides: it, then as many of the other value.
  private var outstanding = 0
  private var isFirst = true

  package init() {}

  /// Codes a bin in a context: `state` is its pStateIdx * 2 + valMPS, and is moved on.
  package mutating func put(_ bin: Bool, state: inout UInt8, into bits: inout BitWriter) {
    let index = Int(state >> 1)
    let less = UInt32(CABACTables.rangeLPS[index << 2 | Int(range >> 6 & 3)])
    let isLess = bin != (state & 1 == 1)
    range -= less
    if isLess {
      low += range
      range = less
    }
    state = CABACTables.next(state, isLess: isLess)
    renormalise(into: &bits)
  }

  /// Codes a bin that ends the arithmetic code when it is set, as end_of_slice_flag does. The last
  /// bit written then is a one: rbsp_stop_one_bit.
  package mutating func putEnd(_ isEnd: Bool, into bits: inout BitWriter) {
    range -= 2
    guard isEnd else { return renormalise(into: &bits) }
    low += range
    range = 2
    renormalise(into: &bits)
    put(low >> 9 & 1, into: &bits)
    bits.put(low >> 7 & 3 | 1, bits: 2)
  }

  private mutating func renormalise(into bits: inout BitWriter) {
    while range < 256 {
      if low < 256 {
        put(0, into: &bits)
      } else if low >= 512 {
        low -= 512
        put(1, into: &bits)
      } else {
        low -= 256
        outstanding += 1
      }
      range <<= 1
      low <<= 1
    }
  }

  private mutating func put(_ bit: UInt32, into bits: inout BitWriter) {
    if !isFirst { bits.put(bit, bits: 1) }
    isFirst = false
    for _ in 0..<outstanding { bits.put(1 - bit, bits: 1) }
    outstanding = 0
  }
}
