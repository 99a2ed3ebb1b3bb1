import Glibc
import TestSupport
import Testing

extension Stress {
  /// What would hang for ever ends instead, with its reason.
  @Suite struct Hangs {
    @Test func `a source whose buffers do not fit the limit ends with 86 within seconds`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        // GStreamer's sink shares no descriptor, so libpipewire maps its buffers whole: 32 MB each.
        let source = try ProcessRun(
          "gst-launch-1.0",
          [
            "-q", "videotestsrc", "is-live=true", "!",
            "video/x-raw,format=BGRx,width=3840,height=2160,framerate=30/1", "!", "pipewiresink",
            "mode=provide", "stream-properties=props,node.name=huge,media.class=Video/Source",
          ], environment: desktop.environment, in: directory)
        let pair = try Pair(
          in: directory, faults: desktop.environment, asChild: false, size: nil,
          agent: ["--source", "node:huge"], releasedAgent: true)
        try waitUntil("the agent's end by its limit", within: .seconds(15)) {
          let code = pair.unit?.exitCode
          // It looks for the node once, and GStreamer may not have made it yet.
          if code == 69 { try pair.restartAgent() }
          return code == 86 ? () : nil
        }
        try waitUntil("the cause", isTrue: { pair.lastDeath.contains("no room to map") })
        source.end()
      }
    }

    @Test
    func
      `a driver that does not come back from a picture ends the agent, and the next one goes on`()
      throws
    {
      try withTestDirectory { directory in
        let pair = try Pair(in: directory, faults: ["PORTHOLE_HANG": "20"], asChild: true)
        try waitUntil(
          "the agent's end", within: .seconds(15),
          isTrue: { pair.lastDeath.contains("has not come back") })
        #expect(pair.lastDeath.contains("(exit 70)"))
        try waitUntil("live broadcast", within: .seconds(3), isTrue: { pair.state == "live" })
      }
    }

    @Test func `a watchdog hears nothing of an agent whose driver does not come back`() throws {
      try withTestDirectory { directory in
        let socket = try NotifySocket(directory.file("notify"))
        let port = "127.0.0.1:\(freePort())"
        let folder = ["XDG_RUNTIME_DIR": directory.path]
        let agent = try ProcessRun(
          faultyProgram("capture-agent"),
          ["--listen", port, "--source", "pattern", "--size", "320x240", "--va-display", "none"],
          environment: folder.merging([
            "PORTHOLE_HANG": "20", "NOTIFY_SOCKET": directory.file("notify"),
            "WATCHDOG_USEC": "1000000",
          ]) { $1 }, in: directory)
        let relay = try ProcessRun(
          releasedProgram("host-relay"),
          ["--agent", port, "--consumers", "127.0.0.1:0", "--http", "127.0.0.1:0"],
          environment: folder, in: directory)
        try socket.wait(for: "the agent's end", within: .seconds(20)) { $0 == "STOPPING=1" }
        let end = try #require(socket.heard.last { $0.line == "STOPPING=1" })
        let sign = try #require(socket.heard.last { $0.line == "WATCHDOG=1" })
        // It gives the driver 5 s, and was silent for all but the first half second of them.
        #expect(end.at - sign.at > .seconds(4))
        #expect(try agent.waitForEnd() == 70)
        relay.end()
      }
    }
  }
}
