import Glibc
import TestSupport
import Testing

extension Stress {
  @Suite struct Stalls {
    /// Longer than a silent link is borne.
    private static let stall = Duration.seconds(isLongRun ? 30 : 7)

    @Test func `a relay that stops reading makes the agent hold no more, and finds it again`()
      throws
    {
      try withTestDirectory { directory in
        let pair = try Pair(
          in: directory, faults: [:], asChild: false, size: "1280x720",
          agent: ["--hold", "60", "--bitrate", "20M"])
        try waitUntil("live broadcast", within: .seconds(15), isTrue: { pair.state == "live" })
        let agent = try waitUntil("agent") { pair.agentPID }
        let viewer = try Viewer(port: pair.consumers)
        func waitForPictures(_ count: Int) throws {
          let wanted = viewer.packets + count
          try waitUntil(
            "\(count) pictures", within: .seconds(20),
            isTrue: {
              try viewer.read()
              return viewer.packets >= wanted
            })
        }
        try waitForPictures(60)
        let before = try ProcessFootprint(of: agent)
        pair.relay.signal(SIGSTOP)
        defer { pair.relay.signal(SIGCONT) }
        let stopped = ContinuousClock.now
        var most = before
        try waitUntil("the stall's end", within: Self.stall + .seconds(5)) {
          let now = try ProcessFootprint(of: agent)
          if now.privateKB > most.privateKB { most = now }
          return ContinuousClock.now - stopped > Self.stall ? () : nil
        }
        pair.relay.signal(SIGCONT)
        try waitForPictures(30)
        print("private memory \(before.privateKB) kB, in the stall \(most.privateKB)")
        #expect(most.privateKB - before.privateKB < 256)
        #expect(most.dataKB - before.dataKB < 256)
        #expect(pair.agentPID == agent)
        #expect(viewer.brokenPackets == 0)
      }
    }
  }
}
