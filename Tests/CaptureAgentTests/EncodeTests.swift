import Testing

@testable import CaptureAgent
@testable import VAAPI

/// What the encoder decides before a driver is asked.
struct EncodeTests {
  @Test(
    "the level is the lowest that allows size, rate and bit rate",
    arguments: [
      (1920, 1088, 30, 6_000_000, 40), (1920, 1088, 60, 6_000_000, 42),
      (1920, 1088, 30, 20_000_000, 40), (1920, 1088, 30, 20_000_001, 41),
      (1280, 720, 30, 4_000_000, 31), (1280, 720, 60, 4_000_000, 32),
      (3840, 2160, 30, 20_000_000, 51), (640, 368, 30, 1_000_000, 30),
      (176, 144, 15, 64_000, 10),
    ])
  func level(width: Int, height: Int, rate: Int, bits: Int, expected: UInt8) throws {
    let level = try #require(
      H264Level.lowest(
        widthInMacroblocks: width / 16, heightInMacroblocks: (height + 15) / 16,
        framesPerSecond: rate, bitsPerSecond: bits))
    #expect(level.idc == expected)
  }

  @Test("a picture longer than a level's longest side takes a higher level")
  func longSide() {
    // 90 x 2 macroblocks are few, but 90 is more than the root of 8 x 396.
    let level = H264Level.lowest(
      widthInMacroblocks: 90, heightInMacroblocks: 2, framesPerSecond: 10, bitsPerSecond: 64_000)
    #expect(level?.idc == 22)
    let none = H264Level.lowest(
      widthInMacroblocks: 2000, heightInMacroblocks: 1, framesPerSecond: 1, bitsPerSecond: 1)
    #expect(none == nil)
  }

  @Test("a size that the driver does not take is refused with the driver's bounds")
  func driverBounds() throws {
    let driver = EncodeCapability(
      profile: .main, entrypoint: .encSlice, rateControl: .cbr, packedHeaders: [], maxWidth: 4096,
      maxHeight: 4096, minWidth: 128, minHeight: 32)
    func check(_ width: Int, _ height: Int) throws(EncoderError) {
      try driver.checkSize(
        of: EncoderConfiguration(width: width, height: height, driverFolder: ""))
    }
    try check(128, 17)
    try check(4096, 4096)
    for (width, height) in [(112, 32), (128, 16), (1, 1), (4097, 64), (128, 4097)] {
      let error = #expect(throws: EncoderError.self) { try check(width, height) }
      guard case .unavailable(let text) = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(text.contains(width > 4096 || height > 4096 ? "4096x4096" : "128x32"))
    }
  }

  @Test("no setting left alone gives 6 Mbit/s at 1080p and 30, less below and more above")
  func bitrate() {
    func rate(_ width: Int, _ height: Int, _ framesPerSecond: Int) -> Int {
      RateControl.suitable(width: width, height: height, framesPerSecond: framesPerSecond)
    }
    #expect(rate(1920, 1080, 30) == 6_000_000)
    #expect(rate(1280, 720, 30) < rate(1920, 1080, 30))
    #expect((6_000_001..<12_000_000).contains(rate(1920, 1080, 60)))
    #expect((6_000_001..<24_000_000).contains(rate(3840, 2160, 30)))
    #expect(rate(16, 16, 1) == 500_000)
  }

  @Test("a picture that did not fit is given coarser quantisers, up to the coarsest")
  func coarser() {
    let control = RateControl(configuration: configuration(1920, 1080))
    #expect(control.parameters(raise: 0, for: .other).minQP == RateControl.minQP)
    #expect(control.parameters(raise: 6, for: .other).minQP == RateControl.minQP + 6)
    #expect(control.parameters(raise: 60, for: .other).minQP == 51)
    #expect(control.parameters(raise: 0, for: .other).bufferBits == control.bitsPerSecond)
  }

  @Test("pictures count up from each IDR picture, and each IDR picture differs from the last")
  func order() throws {
    let headers = try H264Headers(
      configuration: configuration(640, 480), profile: .constrainedBaseline,
      bitsPerSecond: 1_000_000)
    var order = PictureOrder()
    var pictures: [H264Picture] = []
    for index in 0..<600 {
      let picture = order.next(keyframe: index == 3 || index == 4, headers: headers, qpDelta: 0)
      #expect(order.reconstruction != order.reference)
      order.advance(past: picture)
      pictures.append(picture)
    }
    #expect(pictures.indices.filter { pictures[$0].isIDR } == [0, 3, 4])
    #expect(pictures[0..<6].map(\.frameNum) == [0, 1, 2, 0, 0, 1])
    #expect(pictures[3].idrPictureID != pictures[4].idrPictureID)
    #expect(pictures[4 + 255].frameNum == 255)
    #expect(pictures[4 + 256].frameNum == 0)
    #expect(pictures[4 + 256].orderIndex == 256)
  }

  @Test("a lost picture makes the next one a keyframe and counts nothing")
  func loss() throws {
    let headers = try H264Headers(
      configuration: configuration(640, 480), profile: .constrainedBaseline,
      bitsPerSecond: 1_000_000)
    var order = PictureOrder()
    order.advance(past: order.next(keyframe: false, headers: headers, qpDelta: 0))
    #expect(!order.next(keyframe: false, headers: headers, qpDelta: 0).isIDR)
    let reconstruction = order.reconstruction
    order.lose()
    #expect(order.next(keyframe: false, headers: headers, qpDelta: 0).isIDR)
    #expect(order.reconstruction == reconstruction)
  }

  @Test("the parameter sets say what is shown, and how")
  func parameterSets() throws {
    let configuration = configuration(1366, 767)
    let headers = try H264Headers(
      configuration: configuration, profile: .constrainedBaseline, bitsPerSecond: 4_000_000)
    let stream = EncodedStream(configuration: configuration, headers: headers)
    #expect(stream.codec == "avc1.42C020")
    #expect((stream.codedWidth, stream.codedHeight) == (1376, 768))
    #expect((stream.displayWidth, stream.displayHeight) == (1366, 768))
    #expect(headers.sequenceSet.displayWidth == 1366)
    #expect(headers.sequenceSet.vui?.colour == .bt709)
    #expect(headers.sequenceSet.vui?.restriction?.maxReorderFrames == 0)
    // What another encoder's keyframe says replaces it.
    var other = stream
    var small = headers.parameterSets
    let main = try H264Headers(
      configuration: self.configuration(64, 64), profile: .main, bitsPerSecond: 64_000)
    small = [0, 0, 0, 1, 9, 0xf0] + main.parameterSets + [0, 0, 1, 0x65, 0x88]
    #expect(other.takeParameterSets(from: small, colour: .bt709) == nil)
    #expect(other.codec == "avc1.4D400A")
    #expect(other.displayWidth == 64)
    #expect(other.parameterSets == main.parameterSets)
  }

  @Test("an access unit keeps its segments in order and knows its first NAL unit")
  func accessUnit() {
    let first: [UInt8] = [0, 0, 0, 1, 0x67, 1]
    let second: [UInt8] = [0, 0, 1, 0x65]
    first.withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        var unit = AccessUnit(isKeyframe: true, pts: 5)
        #expect(unit.leadingSliceType == nil)
        var accepted = [unit.append(first)]
        for _ in 1...AccessUnit.segmentCapacity { accepted.append(unit.append(second)) }
        #expect(accepted.dropLast().allSatisfy { $0 } && accepted.last == false)
        #expect(unit.leadingSliceType == 5)
        #expect(unit.byteCount == 6 + 4 * (AccessUnit.segmentCapacity - 1))
        #expect(unit.bytes().starts(with: [0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x65]))
      }
    }
  }

  @Test("requests for a keyframe that come together are one")
  func keyframeRequests() {
    let requests = KeyframeRequests()
    #expect(!requests.take())
    for _ in 0..<3 { requests.request() }
    #expect(requests.take())
    #expect(!requests.take())
  }

  @Test(
    "a display is chosen by its name",
    arguments: [
      ("auto", DisplayChoice.auto), ("drm", .drm(path: nil)),
      ("drm:/dev/dri/renderD129", .drm(path: "/dev/dri/renderD129")), ("none", DisplayChoice.none),
      ("x11:1", .x11), ("wayland", .wayland),
    ])
  func displays(name: String, choice: DisplayChoice) throws {
    #expect(try #require(DisplayChoice(argument: name)) == choice)
  }

  @Test("other words are no display", arguments: ["", "gpu", "none:1", "drm:", "auto:"])
  func noDisplays(name: String) {
    #expect(DisplayChoice(argument: name) == nil)
  }

  private func configuration(_ width: Int, _ height: Int) -> EncoderConfiguration {
    EncoderConfiguration(width: width, height: height, driverFolder: "/nowhere")
  }
}
