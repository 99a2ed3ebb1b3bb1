import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

struct RateControlTests {
  private let width = 320
  private let height = 192
  private let picturesPerSecond = 6

  private func client(kilobits: Int, minimumQP: Int = 0, initialQP: Int = 0) throws -> (
    DriverClient, [[UInt8]]
  ) {
    let client = try DriverClient(width: width, height: height, rateControl: VA_RC_CBR)
    var rate = VAEncMiscParameterRateControl()
    rate.bits_per_second = UInt32(kilobits * 1000)
    rate.min_qp = UInt32(minimumQP)
    rate.initial_qp = UInt32(initialQP)
    // Few pictures a second, so that a slow machine's pauses are no pauses to the rate control.
    var frameRate = VAEncMiscParameterFrameRate()
    frameRate.framerate = UInt32(picturesPerSecond)
    return (
      client,
      [
        miscParameters(VAEncMiscParameterTypeRateControl, rate),
        miscParameters(VAEncMiscParameterTypeFrameRate, frameRate),
      ]
    )
  }

  @Test("steady motion takes the rate, and not more")
  func steadyMotion() throws {
    let (client, misc) = try client(kilobits: 300)
    var sizes: [Int] = []
    for index in 0..<75 {
      let picture = Picture.text(width: width, height: height, seed: UInt64(1000 * index))
      sizes.append(try client.encode(picture, misc: index == 0 ? misc : []).bytes.count)
    }
    let rate = Double(sizes[25...].reduce(0, +)) * 8 * Double(picturesPerSecond) / 50 / 1000
    #expect(rate > 270 && rate < 315)
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
    let rate = kilobits * 1000
    // A decoder begins when three quarters of a second's bits are there.
    var level = rate * 3 / 4
    for index in 0..<24 {
      let picture =
        index % 8 == 4
        ? Picture.noise(width: width, height: height, seed: UInt64(index))
        : Picture.text(width: width, height: height, seed: UInt64(index / 3), firstLine: index)
      let coded = try client.encode(picture, isIDR: index == 12, misc: index == 0 ? misc : [])
      level -= coded.bytes.count * 8
      #expect(level >= 0, "picture \(index)")
      level = min(rate, level + rate / picturesPerSecond)
    }
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
