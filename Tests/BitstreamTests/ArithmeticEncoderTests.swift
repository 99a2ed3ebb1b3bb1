import TestSupport
import Testing

@testable import Bitstream

@Suite struct ArithmeticEncoderTests {
  @Test("a decoder by the letter of clause 9.3.3.2 reads what was coded", arguments: 0..<20)
  func thereAndBack(seed: Int) {
    var numbers = SplitMix(seed: UInt64(seed))
    // From bins that nearly always are as expected to bins that nearly never are.
    let surprise = [1, 3, 50, 97][seed % 4]
    var bits = BitWriter()
    var coder = ArithmeticEncoder()
    var states = (0..<4).map { _ in UInt8(numbers.below(126)) }
    let first = states
    var coded: [(bin: Bool, context: Int)] = []
    for _ in 0..<5000 {
      let context = numbers.below(4)
      let bin = (states[context] & 1 == 1) != (numbers.below(100) < surprise)
      coder.put(bin, state: &states[context], into: &bits)
      coder.putEnd(false, into: &bits)
      coded.append((bin, context))
    }
    coder.putEnd(true, into: &bits)
    bits.alignWithZeros()

    var decoder = Decoder(bits.bytes, states: first)
    for (index, symbol) in coded.enumerated() {
      guard decoder.bin(symbol.context) == symbol.bin, !decoder.end() else {
        Issue.record("symbol \(index) of \(coded.count)")
        return
      }
    }
    let hasEnded = decoder.end()
    #expect(hasEnded)
  }
}

/// The decoding engine, bit by bit.
private struct Decoder {
  private var bits: BitReader
  private var range: UInt32 = 510
  private var offset: UInt32 = 0
  private var states: [UInt8]

  init(_ bytes: [UInt8], states: [UInt8]) {
    bits = BitReader(bytes)
    self.states = states
    for _ in 0..<9 { shift() }
  }

  private mutating func shift() { offset = offset << 1 | ((try? bits.read(bits: 1)) ?? 0) }

  private mutating func renormalise() {
    while range < 256 {
      range <<= 1
      shift()
    }
  }

  mutating func bin(_ context: Int) -> Bool {
    let state = states[context]
    let less = UInt32(CABACTables.rangeLPS[Int(state >> 1) * 4 + Int(range >> 6 & 3)])
    range -= less
    let isLess = offset >= range
    if isLess {
      offset -= range
      range = less
    }
    states[context] = CABACTables.next(state, isLess: isLess)
    renormalise()
    return (state & 1 == 1) != isLess
  }

  mutating func end() -> Bool {
    range -= 2
    guard offset < range else { return true }
    renormalise()
    return false
  }
}
