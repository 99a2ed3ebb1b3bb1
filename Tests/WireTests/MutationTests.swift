import TestSupport
import Testing

@testable import Wire

@Suite struct MutationTests {
  @Test("flipped, cut, spliced and lengthened streams may throw, never trap or grow")
  func mutations() {
    let whole = Samples.all.flatMap { $0.encoded() } + Samples.packet([9, 8, 7])
    var decoded = 0
    var refused = 0
    for seed in 0..<4000 as Range<UInt64> {
      var random = SplitMix(seed: seed)
      var bytes = whole
      for _ in 0...random.below(4) { mutate(&bytes, &random) }
      do {
        for raw in try decode(bytes, cuts: [random.below(bytes.count + 1)]) {
          #expect(raw.bytes.count <= bytes.count)
          if raw.header.kind != .packet { _ = try Message(raw) }
          decoded += 1
        }
      } catch { refused += 1 }
    }
    #expect(decoded > 0)
    #expect(refused > 0)
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
    guard !bytes.isEmpty else { return }
    let at = random.below(bytes.count)
    switch random.below(4) {
    case 0: bytes[at] ^= UInt8(truncatingIfNeeded: random.next())
    case 1: bytes.removeSubrange(at...)
    case 2: bytes.insert(contentsOf: bytes[random.below(bytes.count)...].prefix(40), at: at)
    default: bytes += (0..<random.below(64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
  }
}
