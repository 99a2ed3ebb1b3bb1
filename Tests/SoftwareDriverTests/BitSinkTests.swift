import Bitstream
import TestSupport
import Testing

@testable import SoftwareDriver

struct BitSinkTests {
  /// What `write` leaves in a buffer of `capacity` bytes.
  private func bytes(capacity: Int = 4096, _ write: (inout BitSink) -> Void) -> (
    bytes: [UInt8], hasOverflowed: Bool
  ) {
    var buffer = [UInt8](repeating: 0xee, count: capacity + 8)
    let result = buffer.withUnsafeMutableBufferPointer { memory in
      var sink = BitSink(start: memory.baseAddress!, capacity: capacity)
      write(&sink)
      return (sink.byteCount, sink.hasOverflowed)
    }
    #expect(buffer[capacity...].allSatisfy { $0 == 0xee })
    return (Array(buffer[..<result.0]), result.1)
  }

  @Test("emulation prevention equals Bitstream's, for payloads full of zeros")
  func emulationPrevention() {
    for seed in 0..<200 as Range<UInt64> {
      var random = SplitMix(seed: seed)
      var payload = (0..<random.below(60)).map { _ in
        random.below(3) == 0 ? UInt8(random.below(256)) : UInt8(random.below(4) & 1)
      }
      payload.append(0x80)
      let unit = bytes { sink in
        sink.beginUnit(header: 0x65)
        for byte in payload { sink.put(UInt32(byte), bits: 8) }
        sink.flushUnit()
      }
      let expected = [0, 0, 0, 1, 0x65] + EmulationPrevention.inserted(into: payload.span)
      #expect(unit.bytes == expected, "seed \(seed)")
    }
  }

  @Test("codes of any length come out as Bitstream writes them")
  func codes() {
    var random = SplitMix(seed: 5)
    var expected = BitWriter()
    let written = bytes { sink in
      for _ in 0..<300 {
        let count = 1 + random.below(32)
        let value = UInt32(truncatingIfNeeded: random.next() >> 32) >> UInt32(32 - count)
        let number = random.below(4000)
        sink.put(value | 1, bits: count)
        sink.putUE(number)
        sink.putSE(number - 2000)
        expected.put(value | 1, bits: count)
        expected.putUE(UInt32(number))
        expected.putSE(Int32(number - 2000))
      }
      sink.endUnit()
    }
    expected.putTrailingBits()
    #expect(written.bytes == EmulationPrevention.inserted(into: expected.bytes.span))
  }

  @Test("what does not fit is dropped, and said", arguments: [0, 1, 7, 8, 9])
  func overflow(capacity: Int) {
    let unit = bytes(capacity: capacity) { sink in
      sink.beginUnit(header: 0x41)
      for _ in 0..<4 { sink.put(0, bits: 32) }
      sink.endUnit()
    }
    #expect(unit.hasOverflowed)
    #expect(unit.bytes.count <= capacity)
  }

  @Test("a copy takes bits back")
  func copy() {
    let once = bytes { sink in
      sink.put(0x1234_5678, bits: 32)
      let before = sink
      for _ in 0..<9 { sink.put(0, bits: 31) }
      sink = before
      sink.endUnit()
    }
    #expect(once.bytes == [0x12, 0x34, 0x56, 0x78, 0x80])
  }
}
