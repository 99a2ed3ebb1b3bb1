import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

struct RateControlTests {
  private let width = 320
  private let height = 192
  private let picturesPerSecond = 6

  private func client(
    kilobits: Int, minimumQP: Int = 0, initialQP: Int = 0, targetPercentage: Int? = nil
  ) throws -> (DriverClient, [[UInt8]]) {
    let client = try DriverClient(
      width: width, height: height, rateControl: targetPercentage == nil ? VA_RC_CBR : VA_RC_VBR)
    return (
      client,
      parameters(
        kilobits: kilobits, minimumQP: minimumQP, initialQP: initialQP,
        targetPercentage: targetPercentage ?? 0)
    )
  }

  private func parameters(
    kilobits: Int, minimumQP: Int = 0, initialQP: Int = 0, targetPercentage: Int = 0
  ) -> [[UInt8]] {
    var rate = VAEncMiscParameterRateControl()
    rate.bits_per_second = UInt32(kilobits * 1000)
    rate.target_percentage = UInt32(targetPercentage)
    rate.min_qp = UInt32(minimumQP)
    rate.initial_qp = UInt32(initialQP)
    // Few pictures a second, so that a slow machine's pauses are no pauses to the rate control.
    var frameRate = VAEncMiscParameterFrameRate()
    frameRate.framerate = UInt32(picturesPerSecond)
    return [
      miscParameters(VAEncMiscParameterTypeRateControl, rate),
      miscParameters(VAEncMiscParameterTypeFrameRate, frameRate),
    ]
  }

  /// Codes pages of text that have nothing in common. Answers bits a picture.
  private func sizes(_ client: DriverClient, _ misc: [[UInt8]], pages: Range<Int>) throws -> [Int] {
    try pages.map { index in
      let page = Picture.text(width: width, height: height, seed: UInt64(1000 * index))
      return try client.encode(page, misc: index == pages.lowerBound ? misc : []).bytes.count * 8
    }
  }

  /// Bits of each five seconds, as a part of what `kilobits` a second are.
  private func fiveSeconds(_ sizes: ArraySlice<Int>, kilobits: Int) -> [Double] {
    let length = 5 * picturesPerSecond
    return (sizes.startIndex...sizes.endIndex - length).map { first in
      Double(sizes[first..<first + length].reduce(0, +)) / Double(5000 * kilobits)
    }
  }

  @Test(
    "steady motion takes the target of CBR and VBR within a tenth, in any five seconds",
    arguments: [nil, 100, 70, 40])
  func steadyMotion(targetPercentage: Int?) throws {
    let (client, misc) = try client(kilobits: 300, targetPercentage: targetPercentage)
    let sizes = try sizes(client, misc, pages: 0..<80)
    let target = 300 * (targetPercentage ?? 100) / 100
    for part in fiveSeconds(sizes[20...], kilobits: target) { #expect(part > 0.9 && part < 1.1) }
    expectBuffered(sizes, rate: 300_000)
  }

  @Test(
    "a bit rate that changes while running is met within a tenth after two seconds",
    arguments: [150, 600])
  func changedRate(kilobits: Int) throws {
    let (client, misc) = try client(kilobits: 300)
    _ = try sizes(client, misc, pages: 0..<30)
    let sizes = try sizes(client, parameters(kilobits: kilobits), pages: 30..<90)
    for part in fiveSeconds(sizes[(2 * picturesPerSecond)...], kilobits: kilobits) {
      #expect(part > 0.9 && part < 1.1)
    }
  }

  /// A decoder that begins when three quarters of a second's bits are there never waits.
  private func expectBuffered(_ sizes: [Int], rate: Int) {
    var level = rate * 3 / 4
    for (index, size) in sizes.enumerated() {
      level -= size
      #expect(level >= 0, "picture \(index)")
      level = min(rate, level + rate / picturesPerSecond)
    }
  }

  @Test("the pictures follow the rate bit for bit")
  func decodes() throws {
    let (client, misc) = try client(kilobits: 120)
    var stream: [UInt8] = []
    var reconstructions: [[UInt8]] = []
    for index in 0..<12 {
      let seed = UInt64(index / 4)
      let picture = Picture.text(width: width, height: height, seed: seed, firstLine: index)
      let coded = try client.encode(picture, isIDR: index == 7, misc: index == 0 ? misc : [])
      stream += coded.bytes
      reconstructions.append(coded.reconstruction)
    }
    let decoded = try DecodedStream(stream, width: width, height: height)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures == reconstructions)
  }

  @Test("a still screen is made sharp within ten pictures, then skipped")
  func refinement() throws {
    let (client, misc) = try client(kilobits: 300)
    let text = Picture.text(width: width, height: height, seed: 1)
    var coded = try client.encode(text, misc: misc)
    for _ in 0..<10 { coded = try client.encode(text) }
    let sharpness = lumaPSNR(coded.reconstruction, text.nv12, width: width, height: height)
    #expect(sharpness >= 40)
    for _ in 0..<10 { coded = try client.encode(text) }
    #expect(coded.bytes.count < 100)
  }

  /// Levels that were dropped as too small while much else changed never came back.
  @Test("a faint mark drawn in a busy moment is there a second later")
  func faintMark() throws {
    let (client, misc) = try client(kilobits: 300)
    func page(_ seed: UInt64, mark: UInt8) -> Picture {
      var page = Picture(width: width, height: height)
      page.draw(Picture.text(width: width, height: 120, seed: seed), x: 0, y: 0)
      for x in stride(from: 8, to: width, by: 32) {
        page.fill(x: x, y: 152, width: 4, height: 4, luma: mark, chroma: 128)
      }
      return page
    }
    try client.encode(page(1, mark: 200), misc: misc)
    for seed in 2..<5 as Range<UInt64> { try client.encode(page(seed, mark: 193)) }
    var seen: [UInt8] = []
    for _ in 0..<picturesPerSecond { seen = try client.encode(page(4, mark: 193)).reconstruction }
    for x in stride(from: 8, to: width, by: 32) {
      #expect(abs(Int(seen[153 * width + x + 1]) - 193) <= 1)
    }
  }

  @Test("a keyframe takes no more than its share of a second")
  func keyframe() throws {
    let (client, misc) = try client(kilobits: 300)
    let noise = Picture.noise(width: width, height: height, seed: 1)
    let coded = try client.encode(noise, misc: misc)
    #expect(coded.bytes.count * 8 < 300_000 * 6 / 10)
  }

  @Test("the smallest and the first QP are the client's")
  func clientQPs() throws {
    let text = Picture.text(width: width, height: height, seed: 1)
    let (free, freeMisc) = try client(kilobits: 4000)
    let (bound, boundMisc) = try client(kilobits: 4000, minimumQP: 36)
    let (first, firstMisc) = try client(kilobits: 4000, initialQP: 40)
    let size = try free.encode(text, misc: freeMisc).bytes.count
    #expect(try bound.encode(text, misc: boundMisc).bytes.count < size * 3 / 4)
    #expect(try first.encode(text, misc: firstMisc).bytes.count < size * 3 / 4)
  }

  /// A page of text that scrolled at 1 Mbit/s went three seconds' bits beyond the buffer.
  @Test("no picture runs the decoder's buffer dry", arguments: [300, 600])
  func decoderBuffer(kilobits: Int) throws {
    let (client, misc) = try client(kilobits: kilobits)
    let sizes = try (0..<24).map { index in
      let picture =
        index % 8 == 4
        ? Picture.noise(width: width, height: height, seed: UInt64(index))
        : Picture.text(width: width, height: height, seed: UInt64(index / 3), firstLine: index)
      return try client.encode(picture, isIDR: index == 12, misc: index == 0 ? misc : []).bytes
        .count
        * 8
    }
    expectBuffered(sizes, rate: kilobits * 1000)
  }

  @Test("a pause is paid into the bucket")
  func pause() {
    var control = RateControl()
    var settings = RateControl.Settings()
    settings.peakBitsPerSecond = 6_000_000
    control.configure(settings)
    let load = PictureLoad(changedCount: 1000, detail: 4_000_000)
    let second: UInt64 = 1_000_000_000
    func qp(at time: UInt64) -> Int {
      let plan = control.plan(load, isIntra: false, at: time)
      control.account(
        bits: 400_000, changedBits: 400_000, load, meanQP: plan.meanQP, isIntra: false)
      return plan.qp
    }
    let busy = (0..<20).map { qp(at: second + UInt64($0) * 33_000_000) }
    let rested = qp(at: 4 * second)
    #expect(rested < busy[19])
  }
}
