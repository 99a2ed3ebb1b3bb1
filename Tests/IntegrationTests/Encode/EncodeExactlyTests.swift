import Foundation
import PipeWire
import Testing

@testable import CaptureAgent

/// The way of a picture, sample for sample: the software driver loses nothing here, so what ffmpeg
/// decodes is what the encoder was given.
///
/// The driver's mode is a variable of the process, so each test is a process of its own.
struct EncodeExactlyTests {
  @Test("decoded pictures equal what was loaded, at sizes that are no whole macroblocks")
  func pictures() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      for (width, height) in [(320, 192), (322, 182), (321, 181)] {
        let frames = try DrawnFrames(width: width, height: height)
        let encoder = try softwareEncoder(width: width, height: height)
        var stream: [UInt8] = []
        var expected: [[UInt8]] = []
        for number in 0..<5 {
          frames.draw { x, y in color(x, y, number) }
          try encoder.load(frames.frame())
          stream += try encoder.encode(keyframe: number == 3, pts: 0).bytes()
          expected.append(ideal(width: width, height: height) { x, y in color(x, y, number) })
        }
        let decoded = try DecodedPictures(
          annexB: stream, width: encoder.stream.displayWidth,
          height: encoder.stream.displayHeight)
        #expect(decoded.isClean, "\(decoded.log)")
        try #require(decoded.pictures.count == 5)
        for (picture, ideal) in zip(decoded.pictures, expected) {
          #expect(largestDifference(picture, ideal) <= 1, "\(width)x\(height)")
        }
      }
    }
  }

  @Test("only the damaged part is taken from a frame, but for the first")
  func damage() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      let frames = try DrawnFrames(width: 320, height: 192)
      let encoder = try softwareEncoder(width: 320, height: 192)
      frames.draw { x, y in color(x, y, 0) }
      try encoder.load(frames.frame(damage: Rectangle(x: 0, y: 0, width: 1, height: 1)))
      var stream = try encoder.encode(keyframe: false, pts: 0).bytes()
      // Everything is drawn anew, but only a part is said to be.
      frames.draw { x, y in color(x, y, 1) }
      try encoder.load(frames.frame(damage: Rectangle(x: 101, y: 51, width: 40, height: 30)))
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
  }

  @Test("a picture that fits no message is refused, and the encoder lives on")
  func overflow() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      // Without loss a keyframe takes 4.3 MB here, and a message carries 4.2.
      let frames = try DrawnFrames(width: 2048, height: 1408)
      let encoder = try softwareEncoder(width: 2048, height: 1408)
      try encoder.load(frames.frame())
      #expect {
        try encoder.encode(keyframe: false, pts: 0)
      } throws: { error in
        guard case .driver(let text) = error as? EncoderError else { return false }
        return text.contains("does not fit")
      }
      let small = try DrawnFrames(width: 320, height: 192)
      try encoder.reconfigure(for: FrameShape(width: 320, height: 192), isHalved: false)
      try encoder.load(small.frame())
      #expect(try encoder.encode(keyframe: false, pts: 1).isKeyframe)
    }
  }
}
