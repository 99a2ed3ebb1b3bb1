import Testing

@testable import Bitstream

@Suite struct BitTests {
  @Test("ue(v) and se(v) have the codes of tables 9-1 and 9-3")
  func codes() {
    var bits = BitWriter()
    for value in [UInt32(0), 1, 2, 3] { bits.putUE(value) }  // 1 010 011 00100
    for value in [Int32(1), -1, 2] { bits.putSE(value) }  // 010 011 00100
    bits.putTrailingBits()
    #expect(bits.bytes == [0b1010_0110, 0b0100_0100, 0b1100_1001])
  }

  @Test("what is written is read back, at every length")
  func thereAndBack() throws {
    var bits = BitWriter()
    let values: [UInt32] = [0, 1, 7, 254, 65_535, 1 << 20, .max - 1]
    for value in values {
      bits.putUE(value)
      bits.put(value, bits: 32)
    }
    for value in [Int32.min + 1, -70_000, -1, 0, 1, 70_000, .max] { bits.putSE(value) }
    bits.putTrailingBits()
    var reader = BitReader(bits.bytes)
    for value in values {
      #expect(try reader.readUE() == value)
      #expect(try reader.read(bits: 32) == value)
    }
    for value in [Int32.min + 1, -70_000, -1, 0, 1, 70_000, .max] {
      #expect(try reader.readSE() == value)
    }
  }

  @Test("the reader stops at the end instead of reading on")
  func end() {
    var reader = BitReader([0x00, 0xff], bitLength: 9)
    #expect(throws: BitstreamError.endOfData) { try reader.read(bits: 10) }
    var zeros = BitReader([UInt8](repeating: 0, count: 8))
    #expect(throws: BitstreamError.invalid("ue(v) of more than 32 bits")) { try zeros.readUE() }
  }

  @Test("emulation prevention keeps start codes out of every payload")
  func emulationPrevention() {
    let rbsp: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4]
    let escaped = EmulationPrevention.inserted(into: rbsp.span)
    #expect(escaped == [0, 0, 3, 0, 0, 3, 0, 1, 0, 0, 3, 2, 0, 0, 3, 3, 0, 0, 4])
    #expect(EmulationPrevention.removed(from: escaped.span) == rbsp)
  }

  @Test("annex B finds each unit behind three or four byte start codes")
  func annexB() {
    let stream: [UInt8] = [9, 0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 1, 0x65, 0, 3, 0, 0]
    let units = AnnexB.units(in: stream.span).map { Array(stream[$0]) }
    #expect(units == [[0x67, 1], [0x68, 2], [0x65, 0, 3]])
    #expect(AnnexB.units(in: [UInt8]().span).isEmpty)
  }
}
