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

    @Test func `a driver that fails costs pictures, and not the broadcast`() throws {
      try withTestDirectory { directory in
        // Three in a row take the device for lost; the next one fails alike.
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "1280x720"],
          driver: [
            "PORTHOLE_DRIVER_FAULTS":
              "vaEndPicture@20,vaMapBuffer@35,overflow@45,vaEndPicture@60,vaEndPicture@61,vaEndPicture@62"
          ])
        try broadcast.waitUntilLive()
        let player = try Player(broadcast.liveTS, seconds: 6, in: directory)
        #expect(try player.waitForEnd(within: .seconds(30)) == 0)
        #expect(player.complaints == [])
        #expect(!player.counters.contains(nil), "every picture is whole")
        try waitUntil(
          "lost pictures", isTrue: { broadcast.status?.agentFigure("pictures_failed") ?? 0 >= 5 })
        #expect(broadcast.status?.state == "live")
      }
    }

    @Test func `a screen that is turned is seen upright, whatever way`() throws {
      try withTestDirectory { directory in
        // A square, so that the window stays where it is.
        let desktop = try DesktopSession(in: directory, size: (1024, 1024))
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        let all = [
          "90", "flipped-270", "180", "270", "flipped", "flipped-90", "flipped-180", "normal",
        ]
        for (number, name) in all.prefix(isLongRun ? 8 : 3).enumerated() {
          let run = try ProcessRun.run(
            "swaymsg", ["output", "HEADLESS-1", "transform", name],
            environment: desktop.environment, in: directory)
          #expect(run.exitCode == 0, "\(run.errors)")
          try waitUntil("frames that are turned \(name)", within: .seconds(20)) {
            let told = broadcast.relay.errors.split(separator: "\n").count {
              $0.contains("the screen's pictures")
            }
            return told == number + 1 ? () : nil
          }
          // The number is read where it is drawn: turned or mirrored it would be none.
          let player = try Player(broadcast.liveTS, name: "player-\(name)", in: directory)
          let first = try player.waitForCounter(past: -1, within: .seconds(20))
          try player.waitForCounter(past: first, within: .seconds(20))
          player.end()
        }
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
