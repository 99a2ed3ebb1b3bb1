import Glibc
import TestSupport
import Testing
import Wire

extension Stress {
  /// An agent that its memory limit ends takes nobody with it.
  @Suite struct Deaths {
    private static let viewerCount = 10
    /// With each parent.
    private static let deaths = isLongRun ? 500 : 5

    @Test(arguments: [true, false])
    func `deaths by memory under ten viewers cost no connection and are named`(asChild: Bool) throws
    {
      try withTestDirectory { directory in
        let pair = try Pair(in: directory, faults: ["PORTHOLE_FAULTS": "1"], asChild: asChild)
        try waitUntil("live broadcast", within: .seconds(15), isTrue: { pair.state == "live" })
        let viewers = try (0..<Self.viewerCount).map { _ in try Viewer(port: pair.consumers) }
        func all(_ claim: (Viewer) -> Bool) throws -> Bool {
          for viewer in viewers { try viewer.read() }
          return viewers.allSatisfy(claim)
        }
        try waitUntil("first pictures", isTrue: { try all { $0.packets > 0 } })
        let before = try ProcessFootprint(of: pair.relay.pid)
        let files = try fileNames(in: directory.file("porthole"))

        for death in 1...Self.deaths {
          let agent = try waitUntil("agent") { pair.agentPID }
          // One that has lived for two seconds counts as sound, and the next one is started at once.
          let began = ContinuousClock.now
          try waitUntil("sound agent") {
            _ = try all { _ in true }
            return ContinuousClock.now - began > .milliseconds(2100) ? () : nil
          }
          let keyframes = viewers.map(\.keyframes)
          let tellings = viewers.map { $0.tellings(of: "memory limit") }
          kill(agent, SIGPWR)
          // Its next allocation ends it: what it does once a second makes some.
          try waitUntil("death \(death)", within: .seconds(3)) {
            _ = try all { _ in true }
            return pair.unit?.exitCode == 86 || kill(agent, 0) == -1 ? () : nil
          }
          try waitUntil(
            "the cause at every viewer", within: .seconds(1),
            isTrue: {
              _ = try all { _ in true }
              return zip(viewers, tellings).allSatisfy { $0.tellings(of: "memory limit") > $1 }
            })
          try pair.restartAgent()
          try waitUntil(
            "a new picture at every viewer", within: .seconds(3),
            isTrue: {
              _ = try all { _ in true }
              return zip(viewers, keyframes).allSatisfy { $0.keyframes > $1 }
            })
        }

        #expect(try all { $0.isConnected && $0.brokenPackets == 0 && $0.state == .live })
        #expect(pair.lastDeath.contains("memory limit"))
        #expect(pair.status?["deaths"] as? Int == Self.deaths)
        #expect(!pair.relay.errors.contains("refused"))
        let after = try ProcessFootprint(of: pair.relay.pid)
        #expect(after.descriptorCount == before.descriptorCount)
        #expect(after.threads == before.threads)
        #expect(try fileNames(in: directory.file("porthole")) == files)
      }
    }
  }
}
