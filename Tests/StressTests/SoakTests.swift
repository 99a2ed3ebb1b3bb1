import TestSupport
import Testing

extension Stress {
  @Suite struct Soaks {
    private static let seconds = isLongRun ? 600 : 20

    @Test func `a broadcast that goes on takes no more memory: its slope is flat`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let pair = try Pair(
          in: directory, faults: desktop.environment, asChild: false, size: nil,
          releasedAgent: true)
        try waitUntil("live broadcast", within: .seconds(20), isTrue: { pair.state == "live" })
        let agent = try waitUntil("agent") { pair.agentPID }
        let viewer = try Viewer(port: pair.consumers)
        try waitUntil("sixty pictures", within: .seconds(20)) {
          try viewer.read()
          return viewer.packets > 60 ? () : nil
        }
        let began = ContinuousClock.now
        let packets = viewer.packets
        var growth = Growth()
        for second in 0...Self.seconds {
          try waitUntil("second \(second)", within: .seconds(2)) {
            try viewer.read()
            return ContinuousClock.now - began >= .seconds(second) ? () : nil
          }
          growth.add(try ProcessFootprint(of: agent), second: second)
        }
        print("\(Self.seconds) s: \(growth)")
        #expect(viewer.packets - packets > Self.seconds * 15)
        #expect(growth.isFlat, "\(growth)")
      }
    }
  }
}
