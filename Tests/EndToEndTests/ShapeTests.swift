import CaptureSupport
import Glibc
import PipeWire
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// Screens of odd layouts, sizes, crops and turns: what of them is seen, and that nothing else is.
  @Suite struct Shapes {
    @Test
    func `BL-04: rows are read at the stride that is said, and one that cannot be is refused`()
      throws
    {
      let (width, height) = (1366, 768)
      var offer = ScreenProducer.Offer()
      offer.mostStride = 8192
      try withDrawnScreen(
        size: (width, height), offer: offer, driver: ["PORTHOLE_DRIVER_MODE": "lossless"]
      ) { screen, broadcast, directory in
        screen.change { $0.rate = 0 }
        /// Draws a ramp at this stride, and says another one if told to.
        func draw(_ ramp: Ramp, stride: Int, said: Int? = nil) throws {
          screen.change {
            $0.picture = { _ in
              var picture = ScreenProducer.Picture(stride: said.map { Int32($0) })
              picture.rowStride = stride
              picture.draw = ramp.draw
              return picture
            }
          }
          _ = try screen.drawOnce()
        }
        for (blue, stride) in [(40, 5504), (120, 5632), (200, 8192)] {
          try draw(Ramp(blue: blue), stride: stride)
          var worst = 255
          let limit = ContinuousClock.now + .seconds(8)
          while worst > 4, ContinuousClock.now < limit {
            guard let seen = try? broadcast.snapshot(width: width, height: height, in: directory)
            else { continue }
            worst = Ramp(blue: blue).distance(to: seen)
          }
          print("a stride of \(stride): every pixel within \(worst) of 255")
          #expect(worst <= 4, "stride \(stride)")
          // No row fits into that, and no picture is made of it.
          let invalid = try #require(broadcast.status).agentFigure("frames_invalid")
          try draw(Ramp(blue: 255), stride: stride, said: width * 4 - 4)
          try waitUntil(
            "a refused picture",
            isTrue: { broadcast.status?.agentFigure("frames_invalid") == invalid + 1 })
          let seen = try broadcast.snapshot(width: width, height: height, in: directory)
          #expect(Ramp(blue: blue).distance(to: seen) <= 4)
        }
      }
    }

    @Test func `BL-06, BL-07: every size is broadcast in that size, with its edges`() throws {
      try withDrawnScreen(size: (1366, 768)) { screen, broadcast, directory in
        let log = try PacketLog(broadcast.consumers)
        let sizes = [
          (1366, 768), (1919, 1079), (641, 481), (650, 650), (17, 17), (1, 1), (16, 1088), (8, 8),
          (3440, 1440), (333, 2),
        ]
        for (index, (width, height)) in sizes.enumerated() {
          let ground: UInt32 = [0x20_4060, 0x80_4020, 0x40_8040][index % 3]
          screen.change {
            $0.size = (width, height)
            $0.picture = { .init(NumberedPicture(number: $0, ground: ground)) }
          }
          try broadcast.expectScreen(ground: ground, width: width, height: height, directory)
          let described = try #require(log.descriptions.last)
          #expect((described.width, described.height) == ((width + 1) & ~1, (height + 1) & ~1))
        }
        #expect(log.end == nil)
      }
    }

    @Test
    func
      `BL-07: a screen that no limit has room for ends its agent with the sum, and one that fits is shown again`()
      throws
    {
      try withDrawnScreen(size: (640, 360)) { screen, broadcast, directory in
        let agent = try #require(broadcast.agentPID)
        let drawn: @Sendable (Int) -> ScreenProducer.Picture = {
          .init(NumberedPicture(number: $0, ground: 0x20_8080))
        }
        screen.change {
          $0.size = (16_384, 16_384)
          $0.picture = { _ in .init(rows: 0) }
        }
        let status = try waitUntil("the agent's end", within: .seconds(10)) {
          broadcast.status.flatMap { $0.agentPID == agent || $0.lastDeath.isEmpty ? nil : $0 }
        }
        #expect(status.lastDeath.contains("the memory plan does not fit"), "\(status.lastDeath)")
        screen.change {
          $0.size = (640, 360)
          $0.picture = drawn
        }
        try broadcast.waitUntilLive(within: .seconds(20))
        try broadcast.expectScreen(ground: 0x20_8080, width: 640, height: 360, directory)
      }
    }

    @Test func `BL-14: a screen that is turned while it streams is upright, whatever way`() throws {
      // Its number is read where it is drawn in either size: wrongly turned or mirrored it is none.
      let (wide, high) = (928, 864)
      try withDrawnScreen(size: (wide, high), rate: 15) { screen, broadcast, directory in
        let player = try Player(broadcast.liveTS, in: directory)
        let log = try PacketLog(broadcast.consumers)
        for (index, transformation) in [UInt32(1), 6, 3, 4, 0, 7, 2, 5, 0].enumerated() {
          let ground: UInt32 = [0x20_4060, 0x80_4020, 0x40_8040][index % 3]
          screen.change {
            $0.picture = {
              .init(NumberedPicture(number: $0, ground: ground), transformation: transformation)
            }
          }
          let size = transformation & 1 == 1 ? (high, wide) : (wide, high)
          try broadcast.expectScreen(ground: ground, width: size.0, height: size.1, directory)
          let described = try #require(log.descriptions.last)
          #expect((described.width, described.height) == size)
          try player.waitForCounter(past: screen.count, within: .seconds(5))
        }
        #expect(
          player.counters.allSatisfy { $0 != nil }, "no picture is torn, or of the turn before")
        #expect(player.complaints == [])
      }
    }

    @Test
    func `BL-13: a crop is all that is seen of a buffer, and one that shows nothing shows nothing`()
      throws
    {
      try withDrawnScreen(size: (1920, 1080)) { screen, broadcast, directory in
        func crop(to place: Rectangle, ground: UInt32) {
          screen.change {
            $0.picture = { number in
              .init(NumberedPicture(number: number, ground: ground, place: place))
            }
          }
        }
        crop(to: Rectangle(x: 37, y: 21, width: 900, height: 600), ground: 0x20_8080)
        try broadcast.expectScreen(ground: 0x20_8080, width: 900, height: 600, directory)
        for place in [
          Rectangle(x: 1920, y: 0, width: 100, height: 100),
          Rectangle(x: 0, y: 0, width: 0, height: 0),
          Rectangle(x: -200, y: -200, width: 100, height: 100),
        ] {
          let taken = try #require(broadcast.status).agentFigure("frames_invalid")
          screen.change {
            $0.picture = { number in
              var picture = ScreenProducer.Picture(
                NumberedPicture(number: number, ground: 0xff_00ff))
              picture.crop = place
              return picture
            }
          }
          try waitUntil("refused pictures", within: .seconds(5)) {
            (broadcast.status?.agentFigure("frames_invalid") ?? 0) > taken + 5
          }
          try broadcast.expectScreen(ground: 0x20_8080, width: 900, height: 600, directory)
        }
        // Another one is another size.
        crop(to: Rectangle(x: 0, y: 480, width: 1001, height: 599), ground: 0x80_2080)
        try broadcast.expectScreen(ground: 0x80_2080, width: 1001, height: 599, directory)
      }
    }
  }
}

/// A picture no two of whose rows and no two of whose columns are alike: red from left to right, green from
/// top to bottom.
private struct Ramp: Sendable {
  let blue: Int

  func draw(
    into pixels: UnsafeMutableRawPointer, stride: Int, width: Int, height: Int
  ) {
    memset(pixels, 0xee, stride * height)
    let columns = (0..<width).map { UInt32($0 * 255 / (width - 1)) << 16 }
    for y in 0..<height {
      let row = (pixels + y * stride).assumingMemoryBound(to: UInt32.self)
      let rest = UInt32(y * 255 / (height - 1)) << 8 | UInt32(blue)
      columns.withUnsafeBufferPointer { columns in
        for x in 0..<width { row[x] = columns[x] | rest }
      }
    }
  }

  /// The largest difference of a part of any pixel.
  func distance(to picture: StillPicture) -> Int {
    var worst = 0
    picture.pixels.withUnsafeBufferPointer { pixels in
      var index = 0
      for y in 0..<picture.height {
        let green = y * 255 / (picture.height - 1)
        for x in 0..<picture.width {
          worst = max(
            worst, abs(Int(pixels[index]) - x * 255 / (picture.width - 1)),
            abs(Int(pixels[index + 1]) - green), abs(Int(pixels[index + 2]) - blue))
          index += 3
        }
      }
    }
    return worst
  }
}
