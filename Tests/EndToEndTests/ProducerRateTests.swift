import CaptureSupport
import Posix
import TestSupport
import Testing

extension EndToEnd.Producers {
  /// `offer` 0: as sources say whose rate changes with what they show.
  @Test(arguments: [
    (offer: 30, fps: 30, rates: [144.0]), (offer: 0, fps: 60, rates: [24, 30, 59.94, 60, 144]),
  ])
  func `a source of any rate is held to --fps, and what it draws last is seen within 100 ms`(
    _ offered: Int, _ fps: Int, _ rates: [Double]
  ) throws {
    var offer = ScreenProducer.Offer()
    offer.framesPerSecond = (UInt32(offered), 1)
    try withDrawnScreen(
      size: (896, 360), agent: ["--fps", "\(fps)"], rate: rates[0], offer: offer
    ) { screen, broadcast, directory in
      let player = try Player(broadcast.liveTS, in: directory)
      let log = try PacketLog(broadcast.consumers)
      var random = SplitMix(seed: 5)
      for rate in rates {
        let begin = try passed(rate, seconds: 0.2, by: screen, log)
        let end = try passed(rate, seconds: 1.2, by: screen, log)
        // By their own times: who joins is given some at once. A busy machine draws fewer than it is to.
        let packets = log.packets[begin..<end]
        let times = packets.first!.pts..<packets.last!.pts
        let seconds = Double(times.upperBound - times.lowerBound) / 1e9
        let drawn = (1...screen.count).count { times.contains(screen.time(of: $0) ?? 0) }
        let new = packets.dropFirst().count { !$0.isUnchanged }
        print(
          "\(Double(drawn) / seconds) a second, of \(rate), at --fps \(fps): "
            + "\(Double(packets.count - 1) / seconds) sent, \(Double(new) / seconds) of them new")
        // What is sent again says that nothing changed, and is no more than that.
        #expect(Double(new) < Double(fps) * 1.03 * seconds + 1)
        #expect(Double(new) > min(Double(drawn), Double(fps) * seconds) * 0.5)

        // It stops at any moment: too soon after the last picture sent, or not.
        var waits: [Int64] = []
        for _ in 0..<3 {
          _ = try passed(rate, seconds: 0.1 + Double(random.below(50)) / 1000, by: screen, log)
          screen.change { $0.rate = 0 }
          let number = try stopped(screen)
          let drawn = try #require(screen.time(of: number))
          // A machine that is too busy for the rate has PipeWire pass some over, and the last one may be among
          // them.
          let packet = try? waitUntil("picture \(number)", within: .seconds(1)) {
            log.packets.last { !$0.isUnchanged && !$0.isKeyframe && $0.pts >= drawn }
          }
          waits.append(packet.map { ($0.arrival - drawn) / 1_000_000 } ?? 1000)
        }
        print("what \(rate) a second ended with came after \(waits) ms")
        #expect(waits.sorted()[1] < 100)
        try expectLast(of: screen, at: player)
      }
      let counters = player.counters
      #expect(counters.allSatisfy { $0 != nil })
      #expect(player.complaints == [])
    }
  }

  /// What a screen that stands still draws is seen, though PipeWire may pass over one picture.
  private func expectLast(of screen: DrawnScreen, at player: Player) throws {
    let seen = try waitUntil("what is drawn last", within: .seconds(10)) { () -> Int? in
      let last = try screen.drawOnce()
      return try? player.waitForCounter(past: last - 1, within: .seconds(2)) - last
    }
    #expect(seen == 0)
  }

  /// Waits until the screen has drawn for so long; how many packets have come by then.
  private func passed(
    _ rate: Double, seconds: Double, by screen: DrawnScreen, _ log: PacketLog
  ) throws -> Int {
    screen.change { $0.rate = rate }
    let wanted = screen.count + Int(seconds * rate)
    try waitUntil("\(seconds) s of pictures", within: .seconds(10)) { screen.count > wanted }
    return log.packets.count
  }

  /// The number of the last picture of a screen that is told to draw none.
  private func stopped(_ screen: DrawnScreen) throws -> Int {
    var last = -1
    try waitUntil(
      "a screen that stands still",
      isTrue: {
        defer { last = screen.count }
        return screen.count == last
      })
    return last
  }
}
