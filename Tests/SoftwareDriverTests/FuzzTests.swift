import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Pictures, sizes, QPs, entropy coders and parameters of chance, each decoded and held against the
/// reconstruction.
struct FuzzTests {
  /// Sequences of a run; each is another seed.
  private static let seeds = 0..<12 as Range<UInt64>

  @Test("whatever is drawn, the decoder's picture is the driver's", arguments: Self.seeds)
  func anything(seed: UInt64) throws {
    var random = SplitMix(seed: 77 &+ seed)
    let width = 2 * (1 + random.below(80))
    let height = 2 * (1 + random.below(60))
    let client = try DriverClient(width: width, height: height, profile: VAProfileH264Main)
    let usesCABAC = random.below(2) == 0
    let offsets = (random.below(13) - 6, random.below(25) - 12)
    let isConstrained = random.below(4) == 0
    client.adjust = {
      $0.slice.slice_alpha_c0_offset_div2 = Int8(offsets.0)
      $0.picture.pic_fields.bits.entropy_coding_mode_flag = usesCABAC ? 1 : 0
      $0.picture.chroma_qp_index_offset = Int8(offsets.1)
      $0.picture.pic_fields.bits.constrained_intra_pred_flag = isConstrained ? 1 : 0
    }
    // pic_init_qp stands in the picture parameter set, which only an IDR picture brings.
    var qp = random.below(52)
    var picture = Picture(width: width, height: height)
    var stream: [UInt8] = []
    var reconstructions: [[UInt8]] = []
    for index in 0..<12 {
      let isIDR = index == 0 || random.below(6) == 0
      if isIDR { qp = random.below(52) }
      for _ in 0..<random.below(4) { change(&picture, &random) }
      let coded = try client.encode(picture, qp: qp, isIDR: isIDR)
      stream += coded.bytes
      reconstructions.append(coded.reconstruction)
    }
    let decoded = try DecodedStream(stream, width: width, height: height)
    #expect(decoded.complaints == [], "seed \(seed)")
    #expect(decoded.pictures == reconstructions, "seed \(seed)")
  }

  /// Draws something of chance somewhere: text, noise, a flat patch, or a part of the picture moved.
  private func change(_ picture: inout Picture, _ random: inout SplitMix) {
    let x = 2 * random.below(picture.width / 2)
    let y = 2 * random.below(picture.height / 2)
    let width = 2 + 2 * random.below(60)
    let height = 2 + 2 * random.below(60)
    switch random.below(4) {
    case 0: picture.draw(.text(width: width, height: height, seed: random.next()), x: x, y: y)
    case 1: picture.draw(.noise(width: width, height: height, seed: random.next()), x: x, y: y)
    case 2:
      picture.fill(
        x: x, y: y, width: width, height: height, luma: UInt8(random.below(256)),
        chroma: UInt8(random.below(256)))
    default: picture.draw(picture, x: 2 * random.below(10), y: 2 * random.below(10))
    }
  }
}
