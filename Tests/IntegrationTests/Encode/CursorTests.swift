import Foundation
import PipeWire
import Testing

@testable import CaptureAgent

/// A pointer over pictures that the software driver codes without loss.
///
/// The driver's mode is a variable of the process, so each test is a process of its own.
struct CursorTests {
  @Test(arguments: [false, true])
  func `a pointer is in the picture while it is encoded, and never in what is kept`(isDevice: Bool)
    async
  {
    await #expect(processExitsWith: .success) { [isDevice] in
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      // As AMD's: it may read the frame when what was made of it is looked at.
      if isDevice { setenv("PORTHOLE_DRIVER_PERSONALITY", "late-processor", 1) }
      let frames = try DrawnFrames(width: 320, height: 192)
      let encoder = try softwareEncoder(width: 320, height: 192)
      frames.draw { x, y in color(x / 2, y / 2, 0) }
      try encoder.load(isDevice ? try frames.deviceFrame() : frames.frame())
      let shape = CursorShape(
        width: 20, height: 10, hotspotX: 0, hotspotY: 0,
        pixels: [UInt32](repeating: 0xff_f0_f0_f0, count: 200))
      // Twice at one place, over an edge, and nowhere again.
      let places: [(Int, Int)?] = [(100, 50), (100, 50), (311, 187), nil, (106, 54), nil]
      var stream: [UInt8] = []
      for place in places {
        encoder.cursor = place.map { Cursor(x: $0.0, y: $0.1, shape: shape) }
        stream += try encoder.encode(keyframe: false, pts: 0).bytes()
      }
      let decoded = try DecodedPictures(annexB: stream, width: 320, height: 192)
      #expect(decoded.isClean, "\(decoded.log)")
      try #require(decoded.pictures.count == places.count)
      for (picture, place) in zip(decoded.pictures, places) {
        let wanted = ideal(width: 320, height: 192) { x, y in
          guard let (left, top) = place, (left..<left + 20).contains(x),
            (top..<top + 10).contains(y)
          else { return color(x / 2, y / 2, 0) }
          return 0xf0_f0_f0
        }
        #expect(largestDifference(picture, wanted) <= 1, "\(place as Any)")
      }
    }
  }

  @Test func `a driver that maps no surface encodes without the pointer`() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      setenv("PORTHOLE_DRIVER_PERSONALITY", "no-derive", 1)
      let frames = try DrawnFrames(width: 320, height: 192)
      let encoder = try softwareEncoder(width: 320, height: 192)
      frames.draw { x, y in color(x / 2, y / 2, 0) }
      try encoder.load(frames.frame())
      encoder.cursor = Cursor(
        x: 10, y: 10,
        shape: CursorShape(width: 1, height: 1, hotspotX: 0, hotspotY: 0, pixels: [.max]))
      let decoded = try DecodedPictures(
        annexB: try encoder.encode(keyframe: false, pts: 0).bytes(), width: 320, height: 192)
      let wanted = ideal(width: 320, height: 192) { x, y in color(x / 2, y / 2, 0) }
      #expect(largestDifference(try #require(decoded.pictures.first), wanted) <= 1)
    }
  }
}
