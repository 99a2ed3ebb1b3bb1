import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Picture {
    @Test(arguments: ["1x1", "1920x1", "3x1080", "4096x64"])
    func `a pattern of any size is broadcast, and the status says its bit rate`(_ size: String)
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", size, "--bitrate", "1500k"])
        try broadcast.waitUntilLive()
        try waitUntil(
          "bit rate", isTrue: { broadcast.status?.agentFigure("bitrate") == 1_500_000 })
      }
    }

    @Test func `a window that changes 30 times a second is seen to change 25 times, without error`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        let seconds = isLongRun ? 60 : 12
        let player = try Player(broadcast.liveTS, seconds: seconds, in: directory)
        #expect(try player.waitForEnd(within: .seconds(seconds + 10)) == 0)
        #expect(player.complaints == [])
        #expect(player.log.contains("Video: h264"))
        #expect(player.log.contains("1920x1080"))
        let counters = player.counters
        #expect(!counters.contains(nil), "every picture is whole")
        #expect(Set(counters).count >= 25 * seconds, "\(counters.count) pictures")
      }
    }
  }
}
