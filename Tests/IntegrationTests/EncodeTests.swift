import Bitstream
import Foundation
import PipeWire
import TestSupport
import Testing
import VAAPI

@testable import CaptureAgent

/// The agent's encoder on real libva with the software driver; what it writes, ffmpeg decodes.
///
/// One at a time: the driver's mode is a variable of the whole process.
@Suite(.serialized)
struct EncodeTests {
  init() { setenv("PORTHOLE_DRIVER_MODE", "lossless", 1) }

  @Test("decoded pictures equal what was loaded, at sizes that are no whole macroblocks")
  func losslessPictures() throws {
    for (width, height) in [(320, 192), (322, 182), (321, 181)] {
      let frames = try DrawnFrames(width: width, height: height)
      let encoder = try encoder(width: width, height: height)
      var stream: [UInt8] = []
      var expected: [[UInt8]] = []
      for number in 0..<5 {
        frames.draw { x, y in color(x, y, number) }
        try encoder.load(frames.frame())
        stream += try encoder.encode(keyframe: number == 3, pts: 0).bytes()
        expected.append(ideal(width: width, height: height) { x, y in color(x, y, number) })
      }
      let decoded = try DecodedPictures(
        annexB: stream, width: encoder.stream.displayWidth, height: encoder.stream.displayHeight)
      #expect(decoded.isClean, "\(decoded.log)")
      try #require(decoded.pictures.count == 5)
      for (picture, ideal) in zip(decoded.pictures, expected) {
        #expect(largestDifference(picture, ideal) <= 1, "\(width)x\(height)")
      }
    }
  }

  @Test("a keyframe is whole by itself and comes exactly when it is asked for")
  func keyframes() throws {
    let frames = try DrawnFrames(width: 320, height: 192)
    let encoder = try encoder(width: 320, height: 192)
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
      } else {
        #expect(bytes.count < 200, "an unchanged picture is all skip")
      }
    }
  }

  @Test("only the damaged part is taken from a frame, and all of it after a new size")
  func damage() throws {
    let frames = try DrawnFrames(width: 320, height: 192)
    let encoder = try encoder(width: 320, height: 192)
    frames.draw { x, y in color(x, y, 0) }
    try encoder.load(frames.frame(damage: Rectangle(x: 0, y: 0, width: 1, height: 1)))
    var stream = try encoder.encode(keyframe: false, pts: 0).bytes()
    // Everything is drawn anew, but only a part is said to be.
    frames.draw { x, y in color(x, y, 1) }
    let part = Rectangle(x: 101, y: 51, width: 40, height: 30)
    try encoder.load(frames.frame(damage: part))
    stream += try encoder.encode(keyframe: false, pts: 1).bytes()
    let decoded = try DecodedPictures(annexB: stream, width: 320, height: 192)
    #expect(decoded.isClean, "\(decoded.log)")
    try #require(decoded.pictures.count == 2)
    let before = ideal(width: 320, height: 192) { x, y in color(x, y, 0) }
    let after = ideal(width: 320, height: 192) { x, y in
      // Grown to whole chroma samples.
      (100..<142).contains(x) && (50..<82).contains(y) ? color(x, y, 1) : color(x, y, 0)
    }
    #expect(largestDifference(decoded.pictures[0], before) <= 1)
    #expect(largestDifference(decoded.pictures[1], after) <= 1)
  }

  @Test("another size starts with a keyframe of that size")
  func reconfigure() throws {
    let small = try DrawnFrames(width: 160, height: 96)
    let large = try DrawnFrames(width: 352, height: 288)
    let encoder = try encoder(width: 160, height: 96)
    for frames in [small, large, small] {
      frames.draw { x, y in color(x, y, 7) }
      try encoder.reconfigure(width: frames.width, height: frames.height)
      try encoder.load(frames.frame())
      let unit = try encoder.encode(keyframe: false, pts: 0)
      #expect(unit.isKeyframe)
      #expect(encoder.stream.displayWidth == frames.width)
      let decoded = try DecodedPictures(
        annexB: unit.bytes(), width: frames.width, height: frames.height)
      #expect(decoded.isClean, "\(decoded.log)")
      let ideal = ideal(width: frames.width, height: frames.height) { x, y in color(x, y, 7) }
      try #require(decoded.pictures.count == 1)
      #expect(largestDifference(decoded.pictures[0], ideal) <= 1)
    }
  }

  @Test("pictures past the end of frame_num decode")
  func manyPictures() throws {
    let frames = try DrawnFrames(width: 64, height: 48)
    let encoder = try encoder(width: 64, height: 48)
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
    #expect(largestDifference(decoded.pictures[599], last) <= 1)
  }

  @Test("a picture that fits no message is refused, and the encoder lives on")
  func overflow() throws {
    // Without loss a keyframe takes 4.3 MB here, and a message carries 4.2.
    let frames = try DrawnFrames(width: 2048, height: 1408)
    let encoder = try encoder(width: 2048, height: 1408)
    try encoder.load(frames.frame())
    #expect {
      try encoder.encode(keyframe: false, pts: 0)
    } throws: { error in
      guard case .driver(let text) = error as? EncoderError else { return false }
      return text.contains("does not fit")
    }
    let small = try DrawnFrames(width: 320, height: 192)
    try encoder.reconfigure(width: 320, height: 192)
    try encoder.load(small.frame())
    #expect(try encoder.encode(keyframe: false, pts: 1).isKeyframe)
  }

  @Test("a still picture gets better until nothing is left to say")
  func refinement() throws {
    setenv("PORTHOLE_DRIVER_MODE", "lossy", 1)
    let (width, height) = (640, 368)
    let frames = try DrawnFrames(width: width, height: height)
    let encoder = try encoder(width: width, height: height)
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
    setenv("PORTHOLE_DRIVER_MODE", "lossy", 1)
    let (width, height) = (320, 192)
    let frames = try DrawnFrames(width: width, height: height)
    let encoder = try encoder(width: width, height: height)
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

  @Test("the software driver is loaded whatever driver the user prefers, and names itself")
  func userPreference() throws {
    setenv("LIBVA_DRIVER_NAME", "iHD", 1)
    defer { unsetenv("LIBVA_DRIVER_NAME") }
    let encoder = try encoder(width: 64, height: 64)
    #expect(encoder.vendor.contains("Porthole"))
    #expect(encoder.vendor.contains("software"))
    #expect(encoder.warnings.isEmpty)
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
      let encoder = try encoder(width: 1280, height: 720)
      try encoder.load(frames.frame())
      _ = try encoder.encode(keyframe: false, pts: 0)
    }
    try round()
    let gauge = try MemoryGauge()
    let before = (descriptors: try descriptors(), sizeKB: gauge.footprint().sizeKB)
    for _ in 0..<50 { try round() }
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

  private func configuration(width: Int, height: Int) -> EncoderConfiguration {
    EncoderConfiguration(
      width: width, height: height, display: .none, driverFolder: builtProducts)
  }

  private func encoder(width: Int, height: Int) throws -> VAAPIEncoder {
    try VAAPIEncoder(configuration: configuration(width: width, height: height))
  }

  /// Where the build puts the driver's module, and this test.
  private var builtProducts: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      .map { ($0 as NSString).deletingLastPathComponent } ?? ""
  }

  /// Dark strokes on a light ground, with a window's border.
  private func letters(_ x: Int, _ y: Int) -> UInt32 {
    if x / 4 == 20 || y / 4 == 20 { return 0x3050a0 }
    return (x * 7 + y * 13) % 29 < 4 && y / 12 % 2 == 0 ? 0x202020 : 0xf0f0e8
  }

  /// Something in every channel, different in each picture.
  private func color(_ x: Int, _ y: Int, _ number: Int) -> UInt32 {
    UInt32((x * 3 + number * 40) & 0xff) << 16 | UInt32((y * 5 + x) & 0xff) << 8
      | UInt32((x ^ y ^ number) & 0xff)
  }
}
