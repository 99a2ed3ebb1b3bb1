import CaptureSupport
import Glibc
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// A screen that takes one size after the other, faster than anybody can follow. `scripts/test sanitize`
  /// runs it on builds that watch every access to memory, and what threads share.
  @Suite struct ResizeStorms {
    private static let sizes = [
      (1920, 1080), (1280, 720), (1366, 768), (2560, 1440), (1024, 768), (900, 1600),
    ]
    private static let count = isLongRun ? 200 : 30

    @Test
    func
      `BL-11: each size that settles is seen within 500 ms, by all, and nothing is left of the others`()
      throws
    {
      try withTestDirectory { directory in
        let pauses = MachinePauses()
        let daemon = try PipeWireDaemon(in: directory)
        let screen = try DrawnScreen(on: daemon, width: 1920, height: 1080)
        defer { screen.end() }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:drawn"], driver: daemon.environment)
        let status = try broadcast.waitUntilLive()
        let agent = try #require(status.agentPID)
        // Such a build sets no limits. It is too slow for the bound of time, and keeps what is given back.
        let isSanitized = status.agentFigure("limit_data_kb") == 0
        let player = try Player(broadcast.liveTS, in: directory)
        let logs = try (0..<2).map { _ in try PacketLog(broadcast.consumers) }
        try player.waitForCounter(past: 0, within: .seconds(10))

        var random = SplitMix(seed: 7)
        var waits: [Int64] = []
        /// Takes a size, and waits until each program has a description and a keyframe of it.
        func settle(_ size: (Int, Int)) throws {
          let begin = MonotonicClock.now()
          screen.change { $0.size = size }
          for log in logs {
            let seen = try waitUntil("\(size)", within: .seconds(5)) { () -> Int64? in
              guard
                let described = log.descriptions.last(where: { $0.arrival > begin }),
                (described.width, described.height) == ((size.0 + 1) & ~1, (size.1 + 1) & ~1)
              else { return nil }
              return log.packets.first { $0.isKeyframe && $0.arrival >= described.arrival }?.arrival
            }
            waits.append((seen - begin) / 1_000_000)
          }
        }
        // Each once, for what is made once and kept.
        for size in Self.sizes.dropFirst() + Self.sizes.prefix(1) { try settle(size) }
        waits = []
        let before = try ProcessFootprint(of: agent)
        // Not back to the size before the last one either, for the screen may never have left it.
        var recent = [0, 0]
        for index in 1...Self.count {
          var next = random.below(Self.sizes.count)
          while recent.contains(next) { next = random.below(Self.sizes.count) }
          recent = [recent[1], next]
          if index % 5 == 0 {
            try settle(Self.sizes[next])
            continue
          }
          screen.change { $0.size = Self.sizes[next] }
          let gap = ContinuousClock.now + .milliseconds(random.below(500))
          try waitUntil("gap", within: .seconds(2)) { ContinuousClock.now > gap }
        }
        let between = (1..<Self.sizes.count).filter { !recent.contains($0) }
        for size in [between[0], between[1], 0] { try settle(Self.sizes[size]) }
        try broadcast.expectScreen(ground: 0x20_4060, width: 1920, height: 1080, directory)
        let sorted = waits.sorted()
        print("sizes settled after \(sorted[sorted.count / 2]) ms, \(sorted.last!) at most")
        #expect(sorted.last! < 500 || isSanitized)
        try player.waitForCounter(past: screen.count - 1, within: .seconds(5))
        #expect(player.counters.allSatisfy { $0 != nil }, "no picture is torn")
        let after = try ProcessFootprint(of: agent)
        print("private memory: \(before.privateKB) kB before, \(after.privateKB) after")
        #expect(after.privateKB - before.privateKB < 256 || isSanitized)
        #expect(after.descriptorCount - before.descriptorCount <= 4, "a buffer's or two")
        #expect(broadcast.agentPID == agent && player.isConnected)
        #expect(logs.allSatisfy { $0.end == nil })
        try broadcast.expectQuickCallbacks(framesPerSecond: isSanitized ? 10 : 30, but: pauses)
        // The agent's end is the broadcast's, and the relay's: what a sanitizer found stands in its code.
        kill(agent, SIGTERM)
        #expect(try broadcast.relay.waitForEnd() == 0)
        #expect(!broadcast.relay.errors.contains("Sanitizer"), "\(broadcast.relay.errors)")
      }
    }
  }
}
