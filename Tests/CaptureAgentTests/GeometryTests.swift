import CommandOptions
import PipeWire
import Pixels
import Testing

@testable import CaptureAgent

/// Where a frame comes to stand in a picture, before a pixel is touched.
struct GeometryTests {
  @Test("what was turned eight ways is turned back: SPA's words undone on a corner's path")
  func undoing() {
    // The corners of an upright picture, clockwise from the top left.
    let upright = [0, 1, 2, 3]
    for transformation in UInt32(0)..<8 {
      // As its producer made it: mirrored left to right, then turned counter-clockwise.
      var made = transformation >= 4 ? [1, 0, 3, 2] : upright
      for _ in 0..<transformation & 3 { made = [made[1], made[2], made[3], made[0]] }
      let back = Orientation(undoing: transformation)
      for _ in 0..<back.quarterTurns { made = [made[3], made[0], made[1], made[2]] }
      if back.isMirrored { made = [made[1], made[0], made[3], made[2]] }
      #expect(made == upright, "transformation \(transformation)")
    }
    #expect(Orientation(undoing: 8) == .upright)
  }

  @Test("two turns after each other are one, in all 64 pairs")
  func composition() {
    func turned(_ corners: [Int], _ orientation: Orientation) -> [Int] {
      var made = corners
      for _ in 0..<orientation.quarterTurns { made = [made[3], made[0], made[1], made[2]] }
      return orientation.isMirrored ? [made[1], made[0], made[3], made[2]] : made
    }
    let all = (0..<8).map { Orientation(quarterTurns: $0, isMirrored: $0 >= 4) }
    for first in all {
      for second in all {
        #expect(
          turned([0, 1, 2, 3], first.followed(by: second))
            == turned(turned([0, 1, 2, 3], first), second))
      }
    }
  }

  @Test(
    "a picture keeps the frame's proportions, between black bars where its own are others",
    arguments: [
      (1920, 1080, 1280, 720, [0, 0, 1280, 720]), (1920, 1080, 1000, 1000, [0, 218, 1000, 562]),
      (1080, 1920, 1920, 1080, [656, 0, 608, 1080]), (641, 481, 641, 481, [0, 0, 641, 481]),
      (1919, 1079, 1920, 1080, [0, 0, 1920, 1080]), (1, 1, 64, 32, [16, 0, 32, 32]),
      (4096, 1, 64, 64, [0, 30, 64, 2]),
    ])
  func letterbox(width: Int, height: Int, boxWidth: Int, boxHeight: Int, place: [Int]) {
    let geometry = PictureGeometry(
      frame: FrameShape(width: width, height: height), size: (boxWidth, boxHeight))
    let content = geometry.content
    #expect([content.x, content.y, content.width, content.height] == place)
    #expect(geometry.hasBars == (place != [0, 0, boxWidth, boxHeight]))
  }

  @Test("size, turn and colour are taken from the command line, and nothing else is")
  func options() throws {
    let options = try Options(
      Options.table.parse([
        "--size", "640x360", "--rotate", "270", "--mirror", "--color", "bt601", "--profile", "main",
      ]))
    #expect(
      options.wish
        == PictureWish(
          width: 640, height: 360, turn: Orientation(quarterTurns: 3, isMirrored: true)))
    #expect(options.colour == .bt601)
    #expect(options.profile == .main)
    let plain = try Options(Options.table.parse([]))
    #expect(plain.wish == PictureWish())
    #expect(plain.colour == .bt709 && plain.profile == nil)
    for words in [["--rotate", "45"], ["--color", "bt2020"], ["--size", "0x1"]] {
      #expect(throws: UsageError.self) { try Options(Options.table.parse(words)) }
    }
  }

  @Test("a quarter turn swaps the sides of a picture without a size of its own")
  func swap() {
    let frame = FrameShape(
      width: 640, height: 480, orientation: Orientation(quarterTurns: 1, isMirrored: false))
    let geometry = PictureGeometry(frame: frame)
    #expect((geometry.width, geometry.height) == (480, 640))
    #expect(geometry.scaled == (640, 480))
    #expect(!geometry.isScaled)
    let upright = PictureGeometry(
      frame: frame, turn: Orientation(quarterTurns: 3, isMirrored: false))
    #expect((upright.width, upright.height) == (640, 480))
    #expect(upright.orientation == .upright)
  }

  @Test("damage comes to stand where its pixels do, in whole chroma samples")
  func damage() {
    for turns in 0..<8 {
      let orientation = Orientation(quarterTurns: turns, isMirrored: turns >= 4)
      let cases: [(Int, Int, (width: Int, height: Int)?)] = [
        (101, 57, nil), (640, 480, (321, 200)), (64, 64, (640, 480)),
      ]
      for (width, height, size) in cases {
        let geometry = PictureGeometry(
          frame: FrameShape(width: width, height: height, orientation: orientation),
          size: size)
        let part = Rectangle(x: width / 3, y: height / 5, width: 3, height: 7)
        let place = geometry.place(of: part)
        #expect(place.x % 2 == 0 && place.y % 2 == 0)
        #expect(place.intersection(geometry.content) == place)
        let whole = Rectangle(x: -5, y: -5, width: width + 10, height: height + 10)
        #expect(geometry.place(of: whole) == geometry.content)
        let beside = geometry.place(of: Rectangle(x: width, y: 0, width: 4, height: 4))
        #expect(beside.width * beside.height == 0)
      }
    }
  }

  @Test(
    "each scaled pixel is made of pixels that are there, with weights that make one",
    arguments: [(1920, 1280), (1280, 1920), (7, 7), (1, 64), (4096, 2), (481, 640), (640, 481)])
  func taps(side: Int, scaled: Int) {
    let taps = ResampleTaps(from: side, to: scaled)
    for index in 0..<scaled {
      let weights = taps.weights[index * taps.count..<(index + 1) * taps.count]
      #expect(weights.reduce(0) { $0 + Int($1) } == 256)
      #expect(Int(taps.first[index]) + taps.count <= side)
      // Where the pixel's middle lies, a weight lies too.
      let middle = (Double(index) + 0.5) * Double(side) / Double(scaled)
      let mean = weights.enumerated().reduce(0.0) {
        $0 + Double($1.element) / 256 * (Double(Int(taps.first[index]) + $1.offset) + 0.5)
      }
      #expect(abs(mean - middle) <= 0.5 + Double(side) / Double(scaled) / 100)
    }
  }
}
