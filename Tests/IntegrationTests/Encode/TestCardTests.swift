import Bitstream
import Foundation
import PipeWire
import Pixels
import Testing

@testable import CaptureAgent

/// Colours and edges as a viewer sees them, whatever way a screen is turned.
@Suite(.serialized)
struct TestCardTests {
  static let sizes = [(1920, 1080), (1366, 768), (1919, 1079), (641, 481)]

  /// A keyframe of a card that was turned, as the encoder writes it.
  struct CardStream {
    let card: TestCard
    let transformation: UInt32
    let unit: [UInt8]
    let stream: EncodedStream

    var name: String { "\(card.width)x\(card.height), transformation \(transformation)" }
  }

  /// All sizes in all transforms, encoded once for both opinions.
  private static let streams = Result {
    try sizes.flatMap { width, height in
      try (UInt32(0)..<8).map { transformation in
        let card = TestCard(width: width, height: height)
        let (frames, shape) = try card.drawn(transformation)
        let encoder = try softwareEncoder(width: shape.width, height: shape.height)
        try encoder.reconfigure(for: shape, isHalved: false)
        try encoder.load(frames.frame(orientation: shape.orientation))
        let unit = try encoder.encode(keyframe: true, pts: 0).bytes()
        return CardStream(
          card: card, transformation: transformation, unit: unit, stream: encoder.stream)
      }
    }
  }

  @Test("patches are within 3 of 255 to the edge, in all eight transforms", arguments: sizes)
  func transforms(width: Int, height: Int) throws {
    for one in try Self.streams.get() where (one.card.width, one.card.height) == (width, height) {
      try expect(one.card, in: one.unit, of: one.stream, one.name)
    }
  }

  @Test("a browser's WebCodecs sees the same")
  func webCodecs() throws {
    let streams = try Self.streams.get()
    let answers = try WebCodecsAnswer.all(
      of: streams.map { one in
        (one.stream.codec, one.unit, one.card.spots(margin: Self.margin))
      })
    try #require(answers.count == streams.count)
    for (one, answer) in zip(streams, answers) {
      try #require(answer.error == nil, "\(one.name): \(answer.error ?? "")")
      #expect(answer.width == one.stream.displayWidth, "\(one.name)")
      #expect(answer.height == one.stream.displayHeight, "\(one.name)")
      #expect(answer.color?.matrix == "bt709" && answer.color?.fullRange == false)
      for ((x, y), seen) in zip(one.card.spots(margin: Self.margin), answer.spots ?? []) {
        let wanted = one.card.color(x, y)
        let distance = (0..<3).reduce(0) { worst, channel in
          max(worst, abs(seen[channel] - Int(wanted >> UInt32(16 - 8 * channel) & 0xff)))
        }
        #expect(distance <= 3, "\(one.name), pixel \(x) \(y): \(seen)")
      }
    }
  }

  @Test("BT.601 is converted and said alike")
  func bt601() throws {
    let card = TestCard(width: 640, height: 360)
    let frames = try DrawnFrames(width: card.width, height: card.height)
    frames.drawGrid(card.color)
    let encoder = try softwareEncoder(
      width: card.width, height: card.height, colour: .bt601)
    try encoder.load(frames.frame())
    let unit = try encoder.encode(keyframe: true, pts: 0).bytes()
    let opinion = try expect(card, in: unit, of: encoder.stream, "BT.601")
    #expect(opinion.properties["color_space"] == "smpte170m")
    #expect(opinion.properties["color_primaries"] == "smpte170m")
    #expect(opinion.properties["color_transfer"] == "bt709")
  }

  @Test(
    "a picture of another size shows the whole card between black bars",
    arguments: [(640, 640), (1280, 400), (321, 201), (1920, 1080)])
  func scaled(width: Int, height: Int) throws {
    for transformation in [UInt32(0), 1, 6] {
      let card = TestCard(width: 641, height: 481)
      let (frames, shape) = try card.drawn(transformation)
      let encoder = try softwareEncoder(
        width: shape.width, height: shape.height, wish: PictureWish(width: width, height: height))
      try encoder.reconfigure(for: shape, isHalved: false)
      try encoder.load(frames.frame(orientation: shape.orientation))
      let opinion = try SecondOpinion(encoder.encode(keyframe: true, pts: 0).bytes())
      try #require(opinion.isWhole, "\(opinion.log)")
      #expect(opinion.width == (width + 1) / 2 * 2 && opinion.height == (height + 1) / 2 * 2)
      let content = PictureGeometry(frame: shape, size: (width, height)).content
      let shown = TestCard(width: content.width, height: content.height)
      for (x, y) in shown.spots(margin: Self.margin) {
        // Beside a bar a player smears the colour of its four-times-larger samples.
        if content.x > 0, x == 0 || x == content.width - 1 { continue }
        if content.y > 0, y == 0 || y == content.height - 1 { continue }
        #expect(
          opinion.distance(x: content.x + x, y: content.y + y, from: shown.color(x, y)) <= 3,
          "\(width)x\(height), transformation \(transformation), \(x) \(y)")
      }
      if content.x > 16 {
        #expect(opinion.distance(x: 0, y: height / 2, from: 0) <= 3)
        #expect(opinion.distance(x: width - 1, y: height / 2, from: 0) <= 3)
      }
      if content.y > 16 {
        #expect(opinion.distance(x: width / 2, y: 0, from: 0) <= 3)
        #expect(opinion.distance(x: width / 2, y: height - 1, from: 0) <= 3)
      }
    }
  }

  @Test("damage is drawn where a turned and scaled picture has it")
  func damage() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_MODE", "lossless", 1)
      for (turns, wish) in [
        (1, PictureWish()), (2, PictureWish()), (7, PictureWish()),
        (0, PictureWish(width: 200, height: 90)), (5, PictureWish(width: 400, height: 300)),
      ] {
        let orientation = Orientation(quarterTurns: turns, isMirrored: turns >= 4)
        let frames = try DrawnFrames(width: 322, height: 182)
        func encoder() throws -> VAAPIEncoder {
          let encoder = try softwareEncoder(width: 322, height: 182, wish: wish)
          try encoder.reconfigure(
            for: FrameShape(width: 322, height: 182, orientation: orientation), isHalved: false)
          return encoder
        }
        frames.draw { x, y in color(x, y, 0) }
        let damaged = try encoder()
        try damaged.load(frames.frame(orientation: orientation))
        _ = try damaged.encode(keyframe: true, pts: 0)
        let part = Rectangle(x: 101, y: 51, width: 43, height: 31)
        frames.draw { x, y in
          (101..<144).contains(x) && (51..<82).contains(y) ? color(x, y, 1) : color(x, y, 0)
        }
        try damaged.load(frames.frame(damage: part, orientation: orientation))
        let whole = try encoder()
        try whole.load(frames.frame(orientation: orientation))
        let size = (damaged.stream.displayWidth, damaged.stream.displayHeight)
        let pictures = try [damaged, whole].map { encoder in
          try DecodedPictures(
            annexB: encoder.encode(keyframe: true, pts: 1).bytes(), width: size.0, height: size.1)
        }
        try #require(pictures.allSatisfy { $0.isClean && $0.pictures.count == 1 })
        #expect(pictures[0].pictures[0] == pictures[1].pictures[0], "\(turns) turns, \(wish)")
      }
    }
  }

  // Away from another patch by more than the macroblock that both share.
  private static let margin = 16

  /// What the stream says it is, and what is seen of it.
  @discardableResult
  private func expect(
    _ card: TestCard, in unit: [UInt8], of stream: EncodedStream, _ what: String
  ) throws -> SecondOpinion {
    let opinion = try SecondOpinion(unit)
    try #require(opinion.isWhole, "\(what): \(opinion.log)")
    #expect(!opinion.log.lowercased().contains("conceal"))
    let size = "\(opinion.width)x\(opinion.height)"
    #expect(size == "\(stream.displayWidth)x\(stream.displayHeight)")
    #expect(size == "\((card.width + 1) / 2 * 2)x\((card.height + 1) / 2 * 2)")
    #expect(opinion.containerSize == size)
    #expect(opinion.properties["color_range"] == "tv")
    for (x, y) in card.spots(margin: Self.margin) {
      let distance = opinion.distance(x: x, y: y, from: card.color(x, y))
      #expect(distance <= 3, "\(what), pixel \(x) \(y)")
    }
    // What an odd size shows twice is its own last column and row.
    let corner = card.color(card.width - 1, card.height - 1)
    #expect(opinion.distance(x: opinion.width - 1, y: opinion.height - 1, from: corner) <= 3)
    return opinion
  }
}
