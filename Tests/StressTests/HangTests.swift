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
  }
}
