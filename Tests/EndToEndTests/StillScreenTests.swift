import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// Nothing moves: no frame comes from the screen, and whoever joins sees it all the same.
  @Suite struct StillScreen {
    @Test func `a picture of a still screen is there within 1 s and equals a screenshot`() throws {
      try withStillScreen { broadcast, desktop, directory in
        let screenshot = directory.file("screen.png")
        try desktop.screenshot(to: screenshot)
        let expected = try StillPicture(of: screenshot, name: "screenshot", in: directory)
        let began = ContinuousClock.now
        let options = ["-probesize", "65536", "-analyzeduration", "1"]
        let seen = try StillPicture(
          of: broadcast.liveTS, options: options, name: "still", in: directory)
        let time = began.duration(to: .now)
        let ratio = 10 * log10(255 * 255 / seen.meanSquaredError(to: expected))
        print("still screen: \(ratio) dB after \(time)")
        #expect(ratio >= 35)
        #expect(time < .seconds(1))
        // The eight flat patches of scripts/desktop/picture.py, each 128 pixels wide.
        for patch in 0..<8 {
          let x = 64 + patch * 128 + 32
          let wanted = expected.colour(x: x, y: 920, side: 64)
          let found = seen.colour(x: x, y: 920, side: 64)
          #expect(found.distance(to: wanted) <= 3, "patch \(patch): \(found), not \(wanted)")
        }
      }
    }

    @Test func `ffmpeg, mpv and GStreamer each show a still screen`() throws {
      try withStillScreen { broadcast, _, directory in
        let players: [(String, [String])] = [
          // By itself ffmpeg looks at 7 s of any transport stream before it shows a picture.
          (
            "ffmpeg",
            ["-nostdin", "-analyzeduration", "1", "-i", broadcast.liveTS, "-frames:v", "1"]
              + ["-f", "null", "-"]
          ),
          (
            "mpv",
            ["--no-config", "--vo=null", "--ao=null", "--frames=1", broadcast.liveTS]
          ),
          (
            "gst-launch-1.0",
            ["-q", "souphttpsrc", "location=\(broadcast.liveTS)", "!", "tsdemux", "!", "h264parse"]
              + ["!", "avdec_h264", "!", "fakesink", "num-buffers=1"]
          ),
        ]
        for (program, arguments) in players {
          let began = ContinuousClock.now
          let run = try ProcessRun.run(program, arguments, in: directory, within: .seconds(15))
          #expect(run.exitCode == 0, "\(program): \(run.errors)")
          print("\(program) showed a still screen after \(began.duration(to: .now))")
        }
      }
    }

    // The portal's backend gave a second capture nothing until something moved.
    @Test func `the next agent's picture of a still screen is there within 2 s`() throws {
      try withStillScreen { broadcast, _, _ in
        for _ in 1...3 {
          let agent = try #require(broadcast.agentPID)
          kill(agent, SIGKILL)
          let killed = ContinuousClock.now
          try waitUntil("a picture of the next agent", within: .seconds(2)) {
            let status = broadcast.status
            return status?.state == "live" && status?.agentPID != agent ? () : nil
          }
          print("a picture of a still screen \(killed.duration(to: .now)) after the kill")
          try waitUntil("an agent that counts as sound", within: .seconds(5)) {
            (broadcast.status?.agentFigure("pictures_unchanged") ?? 0) >= 3 ? () : nil
          }
        }
      }
    }

    /// A broadcast of a screen that has come to rest.
    private func withStillScreen(
      _ body: (Broadcast, DesktopSession, TestDirectory) throws -> Void
    ) throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        try desktop.show("window=still")
        try waitUntil("screen at rest") {
          let before = broadcast.status?.agentFigure("frames_captured")
          _ = poll(nil, 0, 1200)
          return before != nil && broadcast.status?.agentFigure("frames_captured") == before
        }
        try body(broadcast, desktop, directory)
      }
    }
  }
}
