import Bitstream
import Foundation
import TestSupport
import Testing
import VAAPI

@testable import CaptureAgent

/// The agent's encoder on real libva with the software driver; what it writes, ffmpeg decodes.
///
/// One at a time: libva finds a driver by a variable of the whole process.
@Suite(.serialized)
struct EncodeTests {
  @Test("a keyframe is whole by itself and comes exactly when it is asked for")
  func keyframes() throws {
    let frames = try DrawnFrames(width: 320, height: 192)
    let encoder = try softwareEncoder(width: 320, height: 192)
    frames.draw { x, y in color(x, y, 0) }
    try encoder.load(frames.frame())
    for index in 0..<6 {
      let unit = try encoder.encode(keyframe: index == 4, pts: Int64(index))
      #expect(unit.isKeyframe == (index == 0 || index == 4))
      #expect(unit.pts == Int64(index))
      let bytes = unit.bytes()
      let types = try AnnexB.units(in: bytes.span).map { range in
        try NALUnitHeader(byte: bytes[range.lowerBound]).type
      }
      let keyframe: [NALUnitType] = [.sequenceParameterSet, .pictureParameterSet, .sliceIDR]
      #expect(types == (unit.isKeyframe ? keyframe : [.slice]))
      if unit.isKeyframe {
        #expect(
          Array(bytes.prefix(encoder.stream.parameterSets.count)) == encoder.stream.parameterSets)
        let decoded = try DecodedPictures(annexB: bytes, width: 320, height: 192)
        #expect(decoded.isClean, "\(decoded.log)")
        #expect(decoded.pictures.count == 1)
      }
    }
  }

  @Test("another size starts with a keyframe of that size")
  func reconfigure() throws {
    let small = try DrawnFrames(width: 160, height: 96)
    let large = try DrawnFrames(width: 352, height: 288)
    let encoder = try softwareEncoder(width: 160, height: 96)
    for frames in [small, large, small] {
      frames.draw { x, y in color(x, y, 7) }
      try encoder.reconfigure(
        for: FrameShape(width: frames.width, height: frames.height), isHalved: false)
      try encoder.load(frames.frame())
      let unit = try encoder.encode(keyframe: false, pts: 0)
      #expect(unit.isKeyframe)
      #expect(encoder.stream.displayWidth == frames.width)
      let decoded = try DecodedPictures(
        annexB: unit.bytes(), width: frames.width, height: frames.height)
      #expect(decoded.isClean, "\(decoded.log)")
      let ideal = ideal(width: frames.width, height: frames.height) { x, y in color(x, y, 7) }
      try #require(decoded.pictures.count == 1)
      #expect(signalToNoise(decoded.pictures[0], ideal) > 30)
    }
  }

  @Test(
    "a halved picture shows the whole frame at half the width and height, whatever its size",
    arguments: [(160, 96), (186, 134), (322, 202)])
  func halved(width: Int, height: Int) throws {
    let frames = try DrawnFrames(width: width, height: height)
    // Constant over each four pixels that become one.
    frames.draw { x, y in color(x / 2, y / 2, 7) }
    let encoder = try softwareEncoder(width: width, height: height)
    try encoder.reconfigure(for: FrameShape(width: width, height: height), isHalved: true)
    try encoder.load(frames.frame())
    let unit = try encoder.encode(keyframe: false, pts: 0)
    #expect(encoder.stream.displayWidth == (width / 2 + 1) / 2 * 2)
    let size = (encoder.stream.displayWidth, encoder.stream.displayHeight)
    let decoded = try DecodedPictures(annexB: unit.bytes(), width: size.0, height: size.1)
    #expect(decoded.isClean, "\(decoded.log)")
    let ideal = ideal(width: size.0, height: size.1) { x, y in
      color(min(x, width / 2 - 1), min(y, height / 2 - 1), 7)
    }
    try #require(decoded.pictures.count == 1)
    #expect(signalToNoise(decoded.pictures[0], ideal) > 30)
  }

  @Test(
    "pictures past the end of frame_num decode, in each profile",
    arguments: [(nil, "42C0"), (.main, "4D40"), (.high, "6400")] as [(Profile?, String)])
  func manyPictures(profile: Profile?, codec: String) throws {
    let frames = try DrawnFrames(width: 64, height: 48)
    let encoder = try softwareEncoder(width: 64, height: 48, profile: profile)
    #expect(encoder.stream.codec.hasPrefix("avc1." + codec))
    var stream: [UInt8] = []
    for number in 0..<600 {
      frames.draw { x, y in color(x, y, number) }
      try encoder.load(frames.frame())
      stream += try encoder.encode(keyframe: false, pts: 0).bytes()
    }
    let decoded = try DecodedPictures(annexB: stream, width: 64, height: 48)
    #expect(decoded.isClean, "\(decoded.log)")
    try #require(decoded.pictures.count == 600)
    let last = ideal(width: 64, height: 48) { x, y in color(x, y, 599) }
    #expect(signalToNoise(decoded.pictures[599], last) > 30)
  }

  @Test("a still picture gets better until nothing is left to say")
  func refinement() throws {
    let (width, height) = (640, 368)
    let frames = try DrawnFrames(width: width, height: height)
    let encoder = try softwareEncoder(width: width, height: height)
    frames.draw(letters)
    try encoder.load(frames.frame())
    var stream: [UInt8] = []
    var last = 0
    for _ in 0..<30 {
      let unit = try encoder.encode(keyframe: false, pts: 0)
      stream += unit.bytes()
      last = unit.byteCount
    }
    let decoded = try DecodedPictures(annexB: stream, width: width, height: height)
    #expect(decoded.isClean, "\(decoded.log)")
    try #require(decoded.pictures.count == 30)
    let ideal = ideal(width: width, height: height, color: letters)
    #expect(signalToNoise(decoded.pictures[29], ideal) > 40)
    #expect(last < 200)
  }

  @Test("a lower bit rate holds from the next pictures on")
  func bitrate() throws {
    let (width, height) = (320, 192)
    let frames = try DrawnFrames(width: width, height: height)
    let encoder = try softwareEncoder(width: width, height: height)
    func bytes(ofPictures count: Int) throws -> Int {
      var total = 0
      for number in 0..<count {
        frames.draw { x, y in color(x + number * 5, y, number) }
        try encoder.load(frames.frame())
        total += try encoder.encode(keyframe: false, pts: 0).byteCount
      }
      return total
    }
    encoder.setBitrate(3_000_000)
    _ = try bytes(ofPictures: 30)
    let high = try bytes(ofPictures: 30)
    encoder.setBitrate(600_000)
    _ = try bytes(ofPictures: 30)
    let low = try bytes(ofPictures: 30)
    #expect(low < high / 2)
  }

  @Test("a bit rate above the level's brings a keyframe of a higher level, a lower one nothing")
  func bitrateAboveLevel() throws {
    let frames = try DrawnFrames(width: 320, height: 192)
    let encoder = try softwareEncoder(
      width: 320, height: 192, profile: .constrainedBaseline)
    try encoder.load(frames.frame())
    _ = try encoder.encode(keyframe: false, pts: 0)
    let codec = encoder.stream.codec
    encoder.setBitrate(400_000)
    #expect(try !encoder.encode(keyframe: false, pts: 1).isKeyframe)
    #expect(encoder.stream.codec == codec)
    encoder.setBitrate(90_000_000)
    #expect(encoder.stream.codec == "avc1.42C032")
    let unit = try encoder.encode(keyframe: false, pts: 2)
    #expect(unit.isKeyframe)
    #expect(unit.bytes().starts(with: encoder.stream.parameterSets))
  }

  @Test("the software driver is loaded whatever driver the user prefers, and names itself")
  func userPreference() async {
    await #expect(processExitsWith: .success) {
      setenv("LIBVA_DRIVER_NAME", "iHD", 1)
      let encoder = try softwareEncoder(width: 64, height: 64)
      #expect(encoder.vendor.contains("Porthole"))
      #expect(encoder.vendor.contains("software"))
      #expect(encoder.warnings.isEmpty)
    }
  }

  @Test(
    "without a device, auto fails in one line that names --va-display none",
    .enabled(if: !FileManager.default.fileExists(atPath: "/dev/dri"), "this machine has a device"))
  func noDevice() throws {
    #expect(try refusal(of: .auto).contains("--va-display none"))
  }

  @Test("what is no device, and what is not built, is refused in one line that says so")
  func noDisplay() throws {
    #expect(try refusal(of: .drm(path: "/dev/null")).contains("/dev/null is not a DRM render node"))
    #expect(try refusal(of: .drm(path: "/nowhere")).contains("/nowhere: No such file"))
    #expect(try refusal(of: .x11).contains("X11"))
  }

  @Test("a driver that cannot be loaded is refused in one line, with the loader's reason")
  func brokenDriver() throws {
    #expect(try refusal(of: .none, driverFolder: "/nowhere").contains("there is no /nowhere/"))
    try withTestDirectory { directory in
      try "not a library".write(
        toFile: directory.file("libporthole_drv_video.so"), atomically: true, encoding: .utf8)
      #expect(try refusal(of: .none, driverFolder: directory.path).contains("too short"))
    }
  }

  @Test("no encoder leaves a descriptor or a mapping behind")
  func teardown() throws {
    func descriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
    let frames = try DrawnFrames(width: 1280, height: 720)
    frames.draw { x, y in color(x, y, 0) }
    func round() throws {
      let encoder = try softwareEncoder(width: 1280, height: 720)
      try encoder.load(frames.frame())
      _ = try encoder.encode(keyframe: false, pts: 0)
    }
    try round()
    let gauge = try MemoryGauge()
    let before = (descriptors: try descriptors(), sizeKB: gauge.footprint().sizeKB)
    let isLongRun = ProcessInfo.processInfo.environment["PORTHOLE_LONG"] != nil
    for _ in 0..<(isLongRun ? 1000 : 50) { try round() }
    // One descriptor or surface of each encoder would be 50 or 69 MB; what the tests beside this
    // one hold comes and goes.
    #expect(try descriptors() - before.descriptors < 25)
    #expect(gauge.footprint().sizeKB - before.sizeKB < 32 << 10)
  }

  /// Why there is no encoder on `display`.
  private func refusal(of display: DisplayChoice, driverFolder: String = "") throws -> String {
    let configuration = EncoderConfiguration(
      width: 64, height: 64, display: display, driverFolder: driverFolder)
    do {
      _ = try VAAPIEncoder(configuration: configuration)
      throw EncoderError.driver("an encoder where there is none")
    } catch let error as EncoderError {
      guard case .unavailable(let text) = error, !text.contains("\n") else { throw error }
      return text
    }
  }
}
