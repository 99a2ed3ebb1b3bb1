import Glibc
import TestSupport
import Testing

extension Stress {
  @Suite struct Resizes {
    private static let sizes = [
      (1920, 1080), (1280, 720), (3840, 2160), (800, 600), (2560, 1440), (1366, 768),
    ]
    private static let count = isLongRun ? 200 : 20

    @Test func `a screen that is resized over and over takes no more memory`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let pair = try Pair(
          in: directory, faults: desktop.environment, asChild: false, size: nil,
          agent: ["--hold", "60"], releasedAgent: true)
        try waitUntil("live broadcast", within: .seconds(20), isTrue: { pair.state == "live" })
        let agent = try waitUntil("agent") { pair.agentPID }
        let viewer = try Viewer(port: pair.consumers)
        func resize(to size: (Int, Int)) throws {
          let words = ["output", "HEADLESS-1", "mode", "\(size.0)x\(size.1)"]
          let run = try ProcessRun.run(
            "swaymsg", words, environment: desktop.environment, in: directory)
          #expect(run.exitCode == 0, "\(run.errors)")
          try waitUntil("pictures of \(size)", within: .seconds(10)) {
            try viewer.read()
            let streams = pair.status?["streams"] as? [[String: Any]]
            return streams?.first?["width"] as? Int == size.0 ? () : nil
          }
        }
        // Each size once, for what is made once and kept.
        for size in Self.sizes { try resize(to: size) }
        try resize(to: Self.sizes[0])
        let before = try ProcessFootprint(of: agent)
        let began = ContinuousClock.now
        for index in 1...Self.count { try resize(to: Self.sizes[index % Self.sizes.count]) }
        try resize(to: Self.sizes[0])
        let after = try ProcessFootprint(of: agent)
        print(
          "\(Self.count) resizes in \(ContinuousClock.now - began): \(before.privateKB) kB of "
            + "private memory before, \(after.privateKB) after")
        #expect(after.privateKB - before.privateKB < 256)
        #expect(after.dataKB - before.dataKB < 256)
        #expect(after.sizeKB - before.sizeKB < 1024)
        #expect(after.descriptorCount - before.descriptorCount <= 8, "a pool of buffers at most")
        #expect(pair.agentPID == agent)
        #expect(viewer.isConnected && viewer.brokenPackets == 0)
      }
    }
  }
}
