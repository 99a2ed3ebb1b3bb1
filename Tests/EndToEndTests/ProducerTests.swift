import CaptureSupport
import Glibc
import PipeWire
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// Screens that say wrong things of their pictures, or unusual ones. Each picture has its number in it, so
  /// that the far end can tell which one it saw.
  @Suite struct Producers {
    @Test func `what is wrong with a picture is never seen, and what is right is`() throws {
      try withScreen(size: (1280, 720)) { screen, broadcast, directory in
        let player = try Player(broadcast.liveTS, in: directory)
        let log = try PacketLog(broadcast.consumers)
        try player.waitForCounter(past: 10, within: .seconds(10))

        // Each third picture is marked as corrupt, by one flag or the other, and has another number.
        screen.change {
          $0.picture = { number in
            guard number % 3 == 0 else { return .init(NumberedPicture(number: number)) }
            var picture = ScreenProducer.Picture(
              NumberedPicture(number: 40_000 + number % 20_000))
            if number % 2 == 0 { picture.chunkFlags = 1 } else { picture.headerFlags = 2 }
            return picture
          }
        }
        try player.waitForCounter(past: screen.count + 30, within: .seconds(10))
        #expect(!player.counters.compactMap { $0 }.contains { $0 >= 40_000 })

        // Times that no clock gives: back by a second, before the start, a day ahead, the end of time.
        let begin = log.packets.count
        screen.change {
          $0.picture = { number in
            var picture = ScreenProducer.Picture(NumberedPicture(number: number))
            let now = MonotonicClock.now()
            let times = [now - 1_000_000_000, -5, now + 86_400_000_000_000, .max, .min, 1, now, 0]
            picture.time = .at(times[number % times.count])
            return picture
          }
        }
        try player.waitForCounter(past: screen.count + 40, within: .seconds(10))
        let packets = log.packets.dropFirst(begin)
        for (one, next) in zip(packets, packets.dropFirst()) {
          #expect(one.pts < next.pts)
          #expect(abs(next.arrival - next.pts) < 2_000_000_000, "a time of the machine's clock")
        }

        // What comes and says wrongly what of it is new is seen within a second, though no more comes.
        screen.change { $0.rate = 0 }
        screen.change {
          $0.picture = { number in
            var picture = ScreenProducer.Picture(
              NumberedPicture(number: number, ground: 0xb0_8020))
            picture.damage = [Rectangle(x: 0, y: 0, width: 16, height: 16)]
            return picture
          }
        }
        let number = try screen.drawOnce()
        let drawn = try #require(screen.time(of: number))
        try player.waitForCounter(past: number - 1, within: .seconds(3))
        let seen = (MonotonicClock.now() - drawn) / 1_000_000
        print("a picture with wrong damage was seen after \(seen) ms")
        #expect(seen < 1_300, "a second, and what it takes to decode and to be looked at")
        try broadcast.expectScreen(ground: 0xb0_8020, width: 1280, height: 720, directory)
        #expect(player.counters.allSatisfy { $0 != nil })
        #expect(player.complaints == [])
        #expect(broadcast.status?.agentFigure("frames_invalid") ?? 0 > 5)
      }
    }

    @Test func `a crop is all that is seen of a buffer, and one that shows nothing shows nothing`()
      throws
    {
      try withScreen(size: (1920, 1080)) { screen, broadcast, directory in
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

    @Test(arguments: [(144, 30), (59.94, 60)] as [(Double, Int)])
    func `a source of any rate is held to --fps, and what it draws last is seen at once`(
      _ rate: Double, _ fps: Int
    ) throws {
      try withScreen(size: (640, 360), agent: ["--fps", "\(fps)"], rate: rate) {
        screen, broadcast, directory in
        let log = try PacketLog(broadcast.consumers)
        let drawn = screen.count
        try waitUntil("three seconds of pictures", within: .seconds(10)) {
          screen.count > drawn + Int(3 * rate)
        }
        let packets = log.packets
        // By their own times: who joins is given some at once.
        let seconds = Double(packets.last!.pts - packets.first!.pts) / 1e9
        let seen = Double(packets.count - 1) / seconds
        print("\(rate) a second at --fps \(fps): \(seen)")
        #expect(seen < Double(fps) * 1.03 && seen > min(rate, Double(fps)) * 0.85)
        screen.change { $0.rate = 0 }
        screen.change {
          $0.picture = { .init(NumberedPicture(number: $0, ground: 0x20_c0c0)) }
        }
        var slowest: Int64 = 0
        for _ in 0..<5 {
          let before = log.packets.count
          let number = try screen.drawOnce()
          let packet = try waitUntil("a packet for picture \(number)", within: .seconds(2)) {
            let packets = log.packets
            return packets.count > before
              ? packets.first { $0.arrival > screen.time(of: number) ?? .max } : nil
          }
          slowest = max(slowest, packet.arrival - screen.time(of: number)!)
        }
        print("the slowest of five single pictures came after \(slowest / 1_000_000) ms")
        #expect(slowest < 200_000_000)
        try broadcast.expectScreen(ground: 0x20_c0c0, width: 640, height: 360, directory)
      }
    }

    @Test func `every size is broadcast in that size, with its edges`() throws {
      try withScreen(size: (1366, 768)) { screen, broadcast, directory in
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

    private func withScreen(
      size: (Int, Int), agent: [String] = [], rate: Double = 30,
      _ body: (DrawnScreen, Broadcast, TestDirectory) throws -> Void
    ) throws {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let screen = try DrawnScreen(on: daemon, width: size.0, height: size.1)
        defer { screen.end() }
        screen.change { $0.rate = rate }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:drawn"] + agent, driver: daemon.environment)
        try broadcast.waitUntilLive()
        try body(screen, broadcast, directory)
        broadcast.end()
      }
    }
  }
}

extension Broadcast {
  /// Waits until the last picture is a `NumberedPicture` of this ground and size, whole: its edges, and
  /// nothing of what lies around it. An odd size has grown by its last column or row, since H.264 counts
  /// pixels by twos (7.4.2.1.1).
  func expectScreen(
    ground: UInt32, width oddWidth: Int, height oddHeight: Int, _ directory: TestDirectory
  ) throws {
    let (width, height) = ((oddWidth + 1) & ~1, (oddHeight + 1) & ~1)
    var found = "nothing"
    do {
      try waitUntil("\(width)x\(height)", within: .seconds(8)) {
        guard let picture = try? snapshot(width: width, height: height, in: directory) else {
          return false
        }
        found = picture.compared(ground: ground)
        return found.isEmpty
      }
    } catch {
      throw ProcessFailure(description: "\(width)x\(height): \(found)")
    }
  }

  /// The last picture as the relay gives it; throws where it has another size.
  func snapshot(
    width: Int, height: Int, in directory: TestDirectory
  ) throws -> StillPicture {
    let file = directory.file("snapshot.png")
    let run = try ProcessRun.run(
      "curl", ["-sf", "-m", "5", "-o", file, "\(page)/snapshot.png"], in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: "no snapshot") }
    return try StillPicture(
      of: file, name: "snapshot", in: directory, width: width, height: height)
  }
}

extension StillPicture {
  /// What is not as a `NumberedPicture` of this ground has it; empty where all is.
  fileprivate func compared(ground: UInt32) -> String {
    let border = NumberedPicture.border
    guard width > 4 * border, height > 4 * border else { return "" }
    let side = border / 2
    let (middleX, middleY) = (width / 2, height * 3 / 4)
    let places: [(String, Int, Int, UInt32)] = [
      ("left", 0, middleY, NumberedPicture.left),
      ("right", width - side, middleY, NumberedPicture.right),
      ("top", middleX, 0, NumberedPicture.top),
      ("bottom", middleX, height - side, NumberedPicture.bottom),
      ("ground", middleX, middleY, ground),
    ]
    return places.compactMap { name, x, y, wanted in
      let seen = colour(x: x, y: y, side: side)
      let distance = seen.distance(
        to: Colour(
          red: Int(wanted >> 16), green: Int(wanted >> 8 & 0xff), blue: Int(wanted & 0xff)))
      return distance <= 6 ? nil : "\(name) is \(seen)"
    }.joined(separator: ", ")
  }
}
