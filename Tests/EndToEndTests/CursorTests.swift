import CaptureSupport
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// `--cursor drawn`: screens that describe the pointer, and an agent that draws it.
  @Suite struct Cursors {
    private static let ground: UInt32 = 0x20_4060
    private static let red: UInt32 = 0xc8_2828

    @Test
    func `a pointer is drawn where it is, moves without a picture, and leaves nothing behind`()
      throws
    {
      try withScreen { screen, broadcast, directory in
        let size = (1280, 720)
        // Beside a picture, with what it looks like.
        screen.tell(
          ToldCursor(x: 400, y: 300, bitmap: .init(side: 48, color: 0xff00_0000 | Self.red)))
        _ = try screen.drawOnce()
        try broadcast.expect(
          [(412, 312, Self.red), (436, 336, Self.red), (456, 312, Self.ground)], size, directory)

        // Alone, and half beyond the edge. That is no picture that was wrong.
        let invalid = try #require(broadcast.status).agentFigure("frames_invalid")
        for (x, y) in [(600, 500), (603, 503), (-24, 500), (1256, 696)] as [(Int32, Int32)] {
          screen.tell(ToldCursor(x: x, y: y), alone: true)
          _ = try screen.drawOnce()
        }
        let border = NumberedPicture.right
        try broadcast.expect(
          [
            (412, 312, Self.ground), (436, 336, Self.ground), (612, 512, Self.ground),
            (12, 512, Self.ground), (1260, 700, Self.red), (1240, 600, Self.ground),
            (1274, 600, border), (640, 600, Self.ground),
          ], size, directory)
        screen.tell(ToldCursor(x: -24, y: 500), alone: true)
        _ = try screen.drawOnce()
        try broadcast.expect(
          [(8, 512, Self.red), (1260, 700, Self.ground), (32, 512, Self.ground)], size, directory)

        // Another look, of which half is seen through.
        var sprite = ToldCursor.Bitmap(side: 32, color: 0x8064_1414)
        sprite.pixels.replaceSubrange(512..<1024, with: [UInt32](repeating: 0, count: 512))
        screen.tell(ToldCursor(x: 700, y: 500, bitmap: sprite), alone: true)
        _ = try screen.drawOnce()
        // Half of (200, 40, 40) over half of the ground.
        try broadcast.expect(
          [(12, 512, Self.ground), (712, 504, 0x74_3444), (712, 520, Self.ground)], size,
          directory)

        screen.tell(.hidden, alone: true)
        _ = try screen.drawOnce()
        try broadcast.expect([(712, 504, Self.ground)], size, directory)
        try broadcast.expectScreen(ground: Self.ground, width: 1280, height: 720, directory)
        #expect(broadcast.status?.agentFigure("frames_invalid") == invalid)
      }
    }

    @Test
    func `a pointer moves through pictures of which it is no part, whatever they call damaged`()
      throws
    {
      try withScreen { screen, broadcast, directory in
        screen.change {
          $0.picture = { number in
            var picture = ScreenProducer.Picture(NumberedPicture(number: number))
            picture.damage = [.init(x: 64, y: 64, width: 768, height: 32)]
            picture.isCursorAlone = number % 3 == 0
            picture.cursor = ToldCursor(
              x: Int32(100 + number * 7 % 900), y: 400,
              bitmap: .init(side: 48, color: 0xff00_0000 | Self.red))
            return picture
          }
          $0.rate = 60
        }
        let drawn = screen.count
        try waitUntil("two seconds of pictures", isTrue: { screen.count > drawn + 120 })
        screen.change { $0.rate = 0 }
        screen.tell(ToldCursor(x: 1100, y: 600), alone: true)
        // PipeWire may pass over the first ones, which come close behind others.
        for _ in 0..<6 { _ = try screen.drawOnce() }
        let line = stride(from: 100, to: 1000, by: 12).map { ($0, 420, Self.ground) }
        try broadcast.expect(
          line + [(1112, 612, Self.red), (1060, 612, Self.ground)], (1280, 720), directory)
      }
    }

    @Test func `a pointer is turned and scaled with its picture`() throws {
      try withScreen(agent: ["--size", "640x360", "--rotate", "180"]) {
        screen, broadcast, directory in
        screen.tell(
          ToldCursor(x: 400, y: 300, bitmap: .init(side: 64, color: 0xff00_0000 | Self.red)))
        _ = try screen.drawOnce()
        // From (200, 150) to (232, 182) before it is turned.
        try broadcast.expect(
          [
            (412, 182, Self.red), (432, 202, Self.red), (444, 190, Self.ground),
            (396, 190, Self.ground), (420, 170, Self.ground), (420, 214, Self.ground),
          ], (640, 360), directory)
      }
    }

    @Test func `words about a pointer that are none cost neither the agent nor its memory`() throws
    {
      try withScreen { screen, broadcast, directory in
        func lie(_ pictures: Int, seed: UInt64) throws {
          screen.change {
            $0.picture = { number in
              var picture = ScreenProducer.Picture(NumberedPicture(number: number))
              picture.isCursorAlone = number % 2 == 0
              picture.cursor = .lie(seed &+ UInt64(number))
              return picture
            }
            $0.rate = 120
          }
          let drawn = screen.count
          try waitUntil(
            "\(pictures) lies", within: .seconds(30), isTrue: { screen.count > drawn + pictures })
          screen.change { $0.rate = 0 }
        }
        let pid = try #require(broadcast.agentPID)
        // As large as any is.
        screen.tell(ToldCursor(bitmap: .init(side: 384, color: 0x8080_8080)))
        _ = try screen.drawOnce()
        try lie(120, seed: 1)
        let before = try ProcessFootprint(of: pid)
        try lie(isLongRun ? 72_000 : 240, seed: 1 << 32)
        let after = try ProcessFootprint(of: pid)
        #expect(after.peakSizeKB - before.peakSizeKB <= 1_024)
        #expect(broadcast.agentPID == pid)
        screen.tell(
          ToldCursor(x: 400, y: 300, bitmap: .init(side: 48, color: 0xff00_0000 | Self.red)))
        // On a busy machine PipeWire may pass over one that comes so close behind others.
        for _ in 0..<6 { _ = try screen.drawOnce() }
        try broadcast.expect(
          [(412, 312, Self.red), (456, 312, Self.ground)], (1280, 720), directory)
      }
    }

    @Test(arguments: [(7, 4), (3, 2)])
    func `the portal is asked for what it has, and a pointer that nobody describes is told of`(
      modes: Int, asked: Int
    ) throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory, cursorModes: modes)
        let screen = try desk.screen("red")
        try desk.answer("answer accept", "node red")
        let broadcast = try Broadcast(in: directory, scripted: desk, agent: ["--cursor", "drawn"])
        try broadcast.waitUntilLive()
        #expect(desk.calls.contains("SelectSources types 3 cursor \(asked)"), "\(desk.calls)")
        let line =
          modes == 3
          ? "the desktop cannot leave the cursor to the agent: it draws it itself"
          : "the screen's PipeWire node does not tell of the cursor: none is drawn"
        try waitUntil("the line", isTrue: { broadcast.relay.errors.contains(line) })
        screen.end()
      }
    }

    private func withScreen(
      agent: [String] = [], _ body: (DrawnScreen, Broadcast, TestDirectory) throws -> Void
    ) throws {
      var offer = ScreenProducer.Offer()
      offer.cursorByteCount = ToldCursor.byteCount(side: 384)
      try withDrawnScreen(
        size: (1280, 720), agent: ["--cursor", "drawn"] + agent, offer: offer
      ) { screen, broadcast, directory in
        screen.change { $0.rate = 0 }
        try body(screen, broadcast, directory)
      }
    }
  }
}

extension DrawnScreen {
  /// The pictures from now on have this pointer; `alone`: they are none.
  fileprivate func tell(_ cursor: ToldCursor, alone: Bool = false) {
    change {
      $0.picture = { number in
        var picture = ScreenProducer.Picture(NumberedPicture(number: number))
        picture.cursor = cursor
        picture.isCursorAlone = alone
        return picture
      }
    }
  }
}

extension ToldCursor {
  /// Whatever the seed makes of it.
  fileprivate static func lie(_ seed: UInt64) -> ToldCursor {
    var random = SplitMix(seed: seed)
    func any(_ likely: UInt32...) -> UInt32 {
      random.below(3) == 0
        ? UInt32(truncatingIfNeeded: random.next()) : likely[random.below(likely.count)]
    }
    var bitmap = Bitmap(side: 16, color: UInt32(truncatingIfNeeded: random.next()))
    bitmap.format = any(bitmap.format, 7, 8, 11)
    bitmap.width = any(1, 16, 384, 385)
    bitmap.height = any(0, 16, 384)
    bitmap.stride = Int32(bitPattern: any(64, 1536, 4, 0))
    bitmap.offset = any(20, 0, 24, 589_000)
    bitmap.pixels = []
    var cursor = ToldCursor(
      x: Int32(bitPattern: any(0, 640, 1279)), y: Int32(bitPattern: any(0, 360, 719)),
      bitmap: bitmap)
    cursor.id = any(1, 1, 0)
    cursor.hotspotX = Int32(bitPattern: any(0, 8, 400))
    cursor.hotspotY = Int32(bitPattern: any(0, 8, 400))
    cursor.bitmapOffset = any(28, 28, 0, 589_868)
    return cursor
  }
}

extension Broadcast {
  /// Waits until the last picture has these colours, 0xRRGGBB, from these pixels on for four each way.
  func expect(
    _ places: [(Int, Int, UInt32)], _ size: (Int, Int), _ directory: TestDirectory
  ) throws {
    var found = "nothing"
    do {
      try waitUntil(
        "the colours", within: .seconds(8),
        isTrue: {
          guard let picture = try? snapshot(width: size.0, height: size.1, in: directory) else {
            return false
          }
          found = places.compactMap { x, y, color in
            let seen = picture.colour(x: x, y: y, side: 4)
            let wanted = StillPicture.Colour(
              red: Int(color >> 16), green: Int(color >> 8 & 0xff), blue: Int(color & 0xff))
            return seen.distance(to: wanted) <= 8 ? nil : "(\(x), \(y)) is \(seen)"
          }.joined(separator: ", ")
          return found.isEmpty
        })
    } catch {
      throw ProcessFailure(description: found + "\(status?.json["agent"] ?? "")")
    }
  }
}
