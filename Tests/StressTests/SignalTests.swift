import Glibc
import TestSupport
import Testing

extension Stress {
  /// What ends an agent without a chance for last words.
  @Suite struct Signals {
    /// As systemd and the relay name them.
    private static let ends = [
      (SIGABRT, "ABRT", "killed by SIGABRT"), (SIGKILL, "KILL", "killed by SIGKILL"),
      (SIGSEGV, "SEGV", "killed by SIGSEGV"), (SIGILL, "ILL", "killed by SIGILL"),
    ]

    @Test(arguments: [true, false])
    func `a signal that ends an agent is named at every viewer, and the picture comes again`(
      asChild: Bool
    ) throws {
      try withTestDirectory { directory in
        let pair = try Pair(in: directory, faults: [:], asChild: asChild, releasedAgent: true)
        try waitUntil("live broadcast", within: .seconds(15), isTrue: { pair.state == "live" })
        let viewers = try (0..<3).map { _ in try Viewer(port: pair.consumers) }
        func all(_ claim: (Viewer) -> Bool) throws -> Bool {
          for viewer in viewers { try viewer.read() }
          return viewers.allSatisfy(claim)
        }
        for (number, name, words) in Self.ends {
          let agent = try waitUntil("agent") { pair.agentPID }
          let keyframes = try waitUntil("a picture") {
            try all { $0.packets > 0 && $0.state == .live } ? viewers.map(\.keyframes) : nil
          }
          kill(agent, number)
          if let unit = pair.unit {
            try unit.waitForEnd()
            try recordEnd(of: name, port: pair.listen, in: directory)
          }
          try waitUntil(
            "the cause, \(name)", within: .seconds(1),
            isTrue: { try all { $0.tellings(of: words) > 0 } })
          try pair.restartAgent()
          let restarted = ContinuousClock.now
          try waitUntil(
            "a new picture", within: .seconds(4),
            isTrue: {
              _ = try all { _ in true }
              return zip(viewers, keyframes).allSatisfy { $0.keyframes > $1 }
            })
          print("\(name): a new picture \(restarted.duration(to: .now)) after the cause")
        }
        #expect(try all { $0.isConnected && $0.brokenPackets == 0 })
        #expect(pair.status?["deaths"] as? Int == Self.ends.count)
      }
    }

    /// What systemd does when the unit's main process has ended.
    private func recordEnd(of signal: String, port: UInt16, in directory: TestDirectory) throws {
      let run = try ProcessRun.run(
        releasedProgram("capture-agent"), ["--record-end", "--listen", "127.0.0.1:\(port)"],
        name: "record-end",
        environment: [
          "XDG_RUNTIME_DIR": directory.path, "SERVICE_RESULT": "signal", "EXIT_CODE": "killed",
          "EXIT_STATUS": signal,
        ], in: directory)
      #expect(run.exitCode == 0, "\(run.errors)")
    }
  }
}
