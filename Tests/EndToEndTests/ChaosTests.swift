import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// What is killed and stopped at random, again and again, with a seed.
  @Suite struct Chaos {
    private enum Blow: CaseIterable {
      case killAgent
      case stopAgent
      case killRelay
      case stopAgentAndKillRelay
      case pauseAndKillAgent
    }

    @Test
    func
      `after each blow there is one agent, and every reader is served, with nothing left behind`()
      throws
    {
      try withTestDirectory { directory in
        let seed: UInt64 = 4
        var numbers = SplitMix(seed: seed)
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x480"])
        try broadcast.waitUntilLive()
        let address = SocketAddress(bytes: [127, 0, 0, 1], port: broadcast.ports.consumers)
        var readers = try (0..<4).map { _ in Watcher(try .consumer(of: address)) }
        for reader in readers { try reader.watch(after: .min) }
        var memory = MemoryWatch()
        var descriptors: Int?
        for round in 1...(isLongRun ? 1000 : 10) {
          let blow = Blow.allCases[numbers.below(Blow.allCases.count)]
          let relay = broadcast.relay
          try strike(blow, broadcast)
          try broadcast.waitUntilLive(within: .seconds(30))
          if broadcast.relay !== relay {
            // Those who read from the relay that was killed come again, to the next one.
            for reader in readers { reader.peer = try .consumer(of: address) }
            descriptors = nil
            memory.beginAnew()
          }
          // Random readers come and go.
          if numbers.below(2) == 0 { readers.removeLast() }
          let newest = readers.map(\.lastPTS).max() ?? .min
          readers.append(Watcher(try .consumer(of: address), lastPTS: newest))
          let now = MonotonicClock.now()
          for reader in readers { try reader.watch(after: now) }
          while readers.count > 4 { readers.removeLast() }
          let agents = try agentCount(broadcast, in: directory)
          #expect(agents == 1, "round \(round) of seed \(seed), \(blow): \(agents) agents")
          try waitUntil("descriptors as they were, round \(round), \(blow)") {
            let count = try ProcessFootprint(of: broadcast.relay.pid).descriptorCount
            if descriptors == nil { descriptors = count - readers.count }
            return count <= (descriptors ?? 0) + readers.count
          }
          memory.note(try ProcessFootprint(of: broadcast.relay.pid))
        }
        memory.expectNoGrowth()
      }
    }

    private func strike(_ blow: Blow, _ broadcast: Broadcast) throws {
      let agent = try #require(broadcast.agentPID)
      switch blow {
      case .killAgent: kill(agent, SIGKILL)
      case .stopAgent: kill(agent, SIGSTOP)
      case .killRelay, .stopAgentAndKillRelay:
        if blow == .stopAgentAndKillRelay { kill(agent, SIGSTOP) }
        broadcast.relay.signal(SIGKILL)
        try broadcast.relay.waitForEnd()
        try broadcast.startRelayAgain()
        if blow == .killRelay { return }
      case .pauseAndKillAgent:
        try broadcast.control("pause")
        kill(agent, SIGKILL)
        try broadcast.control("resume")
      }
      try waitUntil("another agent", within: .seconds(30)) {
        broadcast.agentPID.map { $0 != agent } ?? false
      }
    }

    /// Processes that were started to listen on this broadcast's port.
    private func agentCount(_ broadcast: Broadcast, in directory: TestDirectory) throws -> Int {
      let run = try ProcessRun.run(
        "pgrep",
        ["-fc", "^\(program("capture-agent")) --listen 127.0.0.1:\(broadcast.ports.agent)"],
        in: directory)
      return Int(run.output.filter(\.isNumber)) ?? 0
    }
  }
}
