import Foundation
import PipeWire
import Testing
import VAAPI

@testable import CaptureAgent

/// Frames that the driver reads where they lie; memfds stand in for dma-bufs.
@Suite(.serialized)
struct ImportTests {
  @Test("frames in dma-bufs look like those that the processor reads, in all eight transforms")
  func transforms() throws {
    for (width, height, wish) in [
      (640, 480, PictureWish()), (641, 481, PictureWish()),
      (640, 480, PictureWish(width: 800, height: 400)),
    ] {
      for transformation in UInt32(0)..<8 {
        let card = TestCard(width: width, height: height)
        let (frames, shape) = try card.drawn(transformation)
        let encoder = try softwareEncoder(width: shape.width, height: shape.height, wish: wish)
        try encoder.reconfigure(for: shape, isHalved: false)
        try encoder.load(frames.deviceFrame(orientation: shape.orientation))
        #expect(encoder.bytesCopied == 0, "no pixel passed through here")
        let opinion = try SecondOpinion(encoder.encode(keyframe: true, pts: 0).bytes())
        try #require(opinion.isWhole, "\(opinion.log)")
        let content = PictureGeometry(frame: shape, size: wish.width.map { ($0, wish.height!) })
          .content
        let shown = TestCard(width: content.width, height: content.height)
        for (x, y) in shown.spots(margin: 16) {
          if content.x > 0, x == 0 || x == content.width - 1 { continue }
          #expect(
            opinion.distance(x: content.x + x, y: content.y + y, from: shown.color(x, y)) <= 3,
            "\(width)x\(height), \(wish), transformation \(transformation), \(x) \(y)")
        }
      }
    }
  }

  @Test("a part of a buffer is shown, and nothing beside it")
  func crop() throws {
    let frames = try DrawnFrames(width: 400, height: 300)
    frames.draw { x, y in
      (40..<240).contains(x) && (20..<140).contains(y) ? 0x2060a0 : 0xffffff
    }
    let encoder = try softwareEncoder(width: 200, height: 120)
    try encoder.load(frames.deviceFrame(crop: Rectangle(x: 40, y: 20, width: 200, height: 120)))
    let opinion = try SecondOpinion(encoder.encode(keyframe: true, pts: 0).bytes())
    try #require(opinion.isWhole && opinion.width == 200 && opinion.height == 120)
    for (x, y) in [(0, 0), (199, 0), (0, 119), (199, 119), (100, 60)] {
      #expect(opinion.distance(x: x, y: y, from: 0x2060a0) <= 3, "\(x) \(y)")
    }
  }

  @Test("a frame that the driver reads late is lent until its picture is encoded, and no longer")
  func lateReading() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_PERSONALITY", "late-processor", 1)
      let frames = try DrawnFrames(width: 64, height: 64)
      let encoder = try softwareEncoder(width: 64, height: 64)
      for color in [0x2060a0, 0xa06020] as [UInt32] {
        frames.draw { _, _ in color }
        try encoder.load(frames.deviceFrame())
        // As a producer does with a buffer that it has back.
        if frames.takeReturn() { frames.draw { _, _ in 0 } }
        let opinion = try SecondOpinion(encoder.encode(keyframe: true, pts: 0).bytes())
        #expect(opinion.distance(x: 32, y: 32, from: color) <= 3)
        try #require(frames.takeReturn())
        frames.draw { _, _ in 0 }
        let again = try SecondOpinion(encoder.encode(keyframe: true, pts: 0).bytes())
        #expect(again.distance(x: 32, y: 32, from: color) <= 3)
      }
    }
  }

  @Test("memory is imported once, known by what it is, and forgotten with its owner")
  func cache() throws {
    let display = try Display.open(.none, driverFolder: builtProducts)
    let cache = ImportCache(display: display)
    let frames = try (0..<3).map { _ in try DrawnFrames(width: 64, height: 64) }
    for _ in 0..<5 {
      for frames in frames {
        try cache.withSurface(of: frames.devicePicture()) { _ in }
      }
    }
    #expect(cache.importCount == 3)
    // The same memory, differently laid out, is another picture.
    try cache.withSurface(of: frames[0].devicePicture(offset: 4)) { _ in }
    #expect(cache.importCount == 4)
    for _ in 0..<20 {
      let passing = try DrawnFrames(width: 64, height: 64)
      try cache.withSurface(of: passing.devicePicture()) { _ in }
      #expect(cache.count <= 5, "what is gone is let go")
    }
    let many = try (0..<20).map { _ in try DrawnFrames(width: 64, height: 64) }
    for frames in many { try cache.withSurface(of: frames.devicePicture()) { _ in } }
    #expect(cache.count == ImportCache.capacity)
  }

  @Test("what the driver imports is found by trying")
  func modifiers() async {
    await #expect(processExitsWith: .success) {
      #expect(
        try Display.open(.none, driverFolder: builtProducts).importableModifiers()
          == [DRMModifier.linear])
      setenv("PORTHOLE_DRIVER_PERSONALITY", "no-import", 1)
      #expect(
        try Display.open(.none, driverFolder: builtProducts).importableModifiers().isEmpty)
      // A frame that came so all the same is read here, and its modifier is asked for no more.
      let frames = try DrawnFrames(width: 64, height: 64)
      frames.draw { _, _ in 0x2060a0 }
      let encoder = try softwareEncoder(width: 64, height: 64)
      #expect {
        try encoder.load(frames.deviceFrame())
      } throws: { error in
        guard case .importing(let choice, _) = error as? EncoderError else { return false }
        return choice == DMABufChoice(format: .bgrx, modifier: DRMModifier.linear)
      }
      #expect(encoder.hasPicture)
      let opinion = try SecondOpinion(encoder.encode(keyframe: false, pts: 0).bytes())
      #expect(opinion.distance(x: 32, y: 32, from: 0x2060a0) <= 3)
      // Tiles are no rows.
      #expect(throws: EncoderError.self) {
        try encoder.load(frames.deviceFrame(modifier: 1 << 56 | 1))
      }
      #expect(!encoder.hasPicture)
    }
  }
}
