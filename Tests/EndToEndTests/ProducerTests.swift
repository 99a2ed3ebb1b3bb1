import CaptureSupport
import PipeWire
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// Screens that say wrong things of their pictures, or unusual ones. Each picture has its number in it, so
  /// that the far end can tell which one it saw.
  @Suite struct Producers {
    @Test(.timeLimit(.minutes(3)))
    func
      `BL-08, BL-09: what is no picture is never seen, and viewers are told when nothing else comes`()
      throws
    {
      try withDrawnScreen(size: (1280, 720)) { screen, broadcast, directory in
        let player = try Player(broadcast.liveTS, in: directory)
        let log = try PacketLog(broadcast.consumers)
        try player.waitForCounter(past: 10, within: .seconds(10))
        /// Marked by one flag or the other, and with another number.
        @Sendable func corrupt(_ number: Int) -> ScreenProducer.Picture {
          var picture = ScreenProducer.Picture(NumberedPicture(number: 40_000 + number % 20_000))
          if number % 2 == 0 { picture.chunkFlags = 1 } else { picture.headerFlags = 2 }
          return picture
        }
        screen.change {
          $0.picture = { $0 % 3 == 0 ? corrupt($0) : .init(NumberedPicture(number: $0)) }
        }
        try player.waitForCounter(past: screen.count + 30, within: .seconds(10))
        screen.change { $0.picture = { .init(NumberedPicture(number: $0)) } }
        try player.waitForCounter(past: screen.count + 2, within: .seconds(10))
        // Nothing is in a buffer whose chunk is empty: that is no fault, however long it lasts.
        let invalid = try #require(broadcast.status).agentFigure("frames_invalid")
        screen.change {
          $0.picture = {
            var picture = ScreenProducer.Picture(NumberedPicture(number: 40_000 + $0 % 20_000))
            picture.size = 0
            return picture
          }
        }
        try waitUntil(
          "more than two seconds of empty buffers", within: .seconds(15),
          isTrue: { broadcast.status?.agentFigure("frames_invalid") ?? 0 > invalid + 70 })
        #expect(broadcast.status?.screen.state == "")
        screen.change { $0.picture = { .init(NumberedPicture(number: $0)) } }
        try player.waitForCounter(past: screen.count + 10, within: .seconds(10))

        let lines = broadcast.relay.errors.split(separator: "\n").count
        screen.change { $0.picture = corrupt }
        let began = MonotonicClock.now()
        let told = try waitUntil("word of it", within: .seconds(10)) { log.words.last }
        #expect(told.state == .lost && told.text.contains("no whole pictures"))
        let wait = (told.arrival - began) / 1_000_000
        print("viewers were told of a screen without whole pictures after \(wait) ms")
        #expect(wait > 1_900 && wait < 3_500)
        #expect(broadcast.status?.state == "live" && broadcast.status?.screen.state == "lost")
        let spell: Int64 = isLongRun ? 30 : 3
        try waitUntil(
          "the end of the spell", within: .seconds(40),
          isTrue: { MonotonicClock.now() > began + spell * 1_000_000_000 })
        #expect(broadcast.relay.errors.split(separator: "\n").count - lines <= 4)

        screen.change { $0.picture = { .init(NumberedPicture(number: $0)) } }
        try player.waitForCounter(past: screen.count + 10, within: .seconds(10))
        #expect(log.words.map(\.state) == [.lost, .on])
        #expect(broadcast.status?.screen.state == "on")
        #expect(player.counters.allSatisfy { $0.map { $0 < 40_000 } == true })
        #expect(player.complaints == [])
      }
    }

    @Test func `BL-15: whatever a source says of its times, they rise and stay with the sound's`()
      throws
    {
      // Black and white by turns at uneven times, so that one beep's pictures can be told from the next one's.
      var random = SplitMix(seed: 15)
      var whites: [Bool] = []
      while whites.count < 10_000 {
        let isWhite = whites.last != true
        whites += [Bool](repeating: isWhite, count: 4 + random.below(6))
      }
      let isWhite = whites
      @Sendable func picture(_ number: Int) -> ScreenProducer.Picture {
        .init(NumberedPicture(number: number, ground: isWhite[number] ? 0xff_ffff : 0))
      }
      try withDrawnScreen(size: (1280, 720), rate: 20, beeps: true, picture: picture) {
        screen, broadcast, directory in
        let log = try PacketLog(broadcast.consumers)
        let file = directory.file("watched.ts")
        let player = try ProcessRun("curl", ["-s", "-o", file, broadcast.liveTS], in: directory)
        /// Takes what comes for some pictures of the source's: how far their times are from those at which
        /// they were drawn, in milliseconds, from the first to the last.
        func times(
          of pictures: Int, _ said: @escaping @Sendable (Int) -> ScreenProducer.Picture.Time
        ) throws -> [Double] {
          screen.change {
            $0.picture = {
              var picture = picture($0)
              picture.time = said($0)
              return picture
            }
          }
          let first = screen.count + 1
          let begin = log.packets.count
          try waitUntil("\(pictures) pictures", within: .seconds(20)) {
            screen.count >= first + pictures
          }
          let packets = log.packets.dropFirst(begin)
          for (one, next) in zip(packets, packets.dropFirst()) { #expect(one.pts < next.pts) }
          let drawn = (first...screen.count).compactMap { screen.time(of: $0) }
          return packets.filter { !$0.isUnchanged }.compactMap { packet in
            drawn.last { $0 <= packet.arrival }.map { Double(packet.pts - $0) / 1e6 }
          }
        }
        func expectInStep(_ times: [Double], _ what: String) {
          let late = times.map(abs).sorted()
          print("\(what): \(late.count) pictures, \(late[late.count / 2]) ms off in the median")
          // The others may meet something else that the machine does.
          #expect(late.count > 5 && late[late.count / 2] < 20, "\(what): \(times)")
        }
        expectInStep(try times(of: 80) { _ in .now }, "its own times")
        let wrong = MonotonicClock.now()
        expectInStep(
          try times(of: 24) { _ in .at(MonotonicClock.now() - 1_000_000_000) }, "a second back")
        let start = MonotonicClock.now()
        expectInStep(try times(of: 24) { _ in .at(start) }, "the same time again")
        expectInStep(
          try times(of: 24) { number in
            let now = MonotonicClock.now()
            let all: [Int64] = [
              now - 1_000_000_000, -5, now + 86_400_000_000_000, .max, .min, 1, now, 0,
            ]
            return .at(all[number % all.count])
          }, "times that no clock gives")
        expectInStep(try times(of: 12) { _ in .now }, "its own times again")
        player.end()
        // What is heard at a player is as far from what is seen as it was before.
        let drawn = (2...screen.count).filter { isWhite[$0] != isWhite[$0 - 1] }
          .compactMap { screen.time(of: $0).map { Double($0) / 1e9 } }
        let moments = try Moments(of: file, in: directory)
        let (first, last) = (try #require(moments.flips.first), try #require(moments.flips.last))
        let split = 1 - (drawn.last! - Double(wrong) / 1e9) / (last - first)
        let steps = [0..<split, split..<1].map {
          moments.soundBehindPicture(drawn: drawn, part: $0).map { $0 * 1000 }
        }
        print("sound behind pictures, before and with wrong times: \(steps) ms")
        let (before, since) = (try #require(steps[0]), try #require(steps[1]))
        #expect(abs(since - before) < 20, "\(moments)")
        // It says nothing of all that itself, so the agent's figures do.
        try waitUntil(
          "the figures", isTrue: { broadcast.status?.agentFigure("frames_mistimed") ?? 0 >= 30 })
      }
    }

    @Test func `what comes and says wrongly what of it is new is seen within a second`() throws {
      try withDrawnScreen(size: (1280, 720)) { screen, broadcast, directory in
        let player = try Player(broadcast.liveTS, in: directory)
        try player.waitForCounter(past: 10, within: .seconds(10))
        // Though no more comes.
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
      }
    }

    @Test func `buffers that a source left empty are asked for anew, at once`() throws {
      try withDrawnScreen(size: (1280, 720)) { screen, broadcast, directory in
        let player = try Player(broadcast.liveTS, in: directory)
        let log = try PacketLog(broadcast.consumers)
        try player.waitForCounter(past: 10, within: .seconds(10))
        let agent = broadcast.agentPID
        // As PipeWire itself hands them on now and then when one size follows the other.
        let begin = MonotonicClock.now()
        screen.change { ($0.unfilledCount, $0.size) = (2, (1024, 768)) }
        let seen = try waitUntil("the size", within: .seconds(10)) { () -> Int64? in
          log.descriptions.last { $0.width == 1024 && $0.height == 768 }?.arrival
        }
        print("buffers twice empty: described anew after \((seen - begin) / 1_000_000) ms")
        try player.waitForCounter(past: screen.count + 5, within: .seconds(10))
        #expect(broadcast.agentPID == agent, "\(broadcast.relay.errors)")
        #expect(player.complaints == [])
      }
    }
  }
}
