import Bitstream
import Testing

@testable import SoftwareDriver

struct CodingIntervalTests {
  /// Chance makes a word of ones once in four thousand million: this makes two in a row.
  @Test("a carry runs through words of ones, or never comes", arguments: [0, 1])
  func carry(last: UInt32) throws {
    // Each bin that is as likely 0 as 1 doubles what is coded and adds 510 or nothing, so all bins
    // together are a multiple of 510: this one lies just below a power of two.
    let number = (UInt128(1) << 118 - 1) / 510
    let bins =
      (0..<110).reversed().map { UInt32(truncatingIfNeeded: number >> UInt128($0)) & 1 }
      + [UInt32](repeating: last, count: 12)
    let bytes = coded(bins)
    #expect(bytes[0] == (last == 0 ? 0x7f : 0x80))
    #expect(bytes[1..<12].allSatisfy { $0 == (last == 0 ? 0xff : 0) })
    #expect(try decoded(bytes, count: bins.count) == bins)
  }

  private func coded(_ bins: [UInt32]) -> [UInt8] {
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 100)
    defer { memory.deallocate() }
    var sink = BitSink(start: memory, capacity: 100)
    var interval = CodingInterval()
    var words = HeldWords()
    for bin in bins { interval.putBypass(bin, count: 1, &words, &sink) }
    interval.finish(&words, &sink)
    sink.alignWithZeros()
    sink.flushUnit()
    let bytes = Array(UnsafeBufferPointer(start: memory, count: sink.byteCount))
    return EmulationPrevention.removed(from: bytes.span)
  }

  /// By the letter of clause 9.3.3.2.3, the range being 510 throughout.
  private func decoded(_ bytes: [UInt8], count: Int) throws -> [UInt32] {
    var bits = BitReader(bytes)
    var offset = try bits.read(bits: 9)
    return try (0..<count).map { _ in
      offset = try offset << 1 | bits.read(bits: 1)
      guard offset >= 510 else { return 0 }
      offset -= 510
      return 1
    }
  }
}
