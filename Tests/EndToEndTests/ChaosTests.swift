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

  /// Case BL-31: a publisher that comes back.
  @Suite struct Publishers {
    @Test
    func `BL-31: viewers stay while their agent is gone, and a second agent finds the port taken`()
      throws
    {
      try withTestDirectory { directory in
        let port = freePort()
        let relay = try RelayRun(
          ["--agent", "127.0.0.1:\(port)", "--hold", "0"], in: directory,
          program: program("host-relay"))
        defer { relay.process.end() }
        let viewers = try (0..<20).map { _ in try ScriptedPeer.consumer(of: relay.consumers) }
        var agent = try startAgent(port, in: directory)
        for viewer in viewers { try viewer.receiveState(.live) }
        let second = try startAgent(port, in: directory, name: "second")
        #expect(try second.waitForEnd() == 75)
        let gaps: [Duration] =
          [.milliseconds(100), .seconds(5)] + (isLongRun ? [.seconds(60)] : [])
        for gap in gaps {
          agent.signal(SIGKILL)
          for viewer in viewers { try viewer.receiveState(.interrupted) }
          let end = ContinuousClock.now + gap
          try waitUntil("the next agent's time", within: gap * 2) { ContinuousClock.now >= end }
          agent = try startAgent(port, in: directory)
          for viewer in viewers {
            #expect(try viewer.receivePacket().flags.contains(.keyframe))
            try viewer.receiveState(.live)
          }
        }
        agent.end()
      }
    }

    @Test func `BL-31: a link that is half open is replaced within 10 s by a later epoch`() throws {
      try withTestDirectory { directory in
        let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
        let relay = try RelayRun(
          ["--agent", "\(agent.address)"], in: directory, program: program("host-relay"))
        defer { relay.process.end() }
        let viewer = try ScriptedPeer.consumer(of: relay.consumers)
        // Nothing comes from it any more, and no end either.
        let halfOpen = try agent.begin()
        try halfOpen.sendPacket([0, 0, 0, 1, 0x65], pts: MonotonicClock.now(), isKeyframe: true)
        try viewer.receiveState(.live)
        let begin = ContinuousClock.now
        let (next, greeting) = try agent.link(instance: 2)
        #expect(ContinuousClock.now - begin < .seconds(10))
        #expect(greeting.epoch == 2)
        try next.send(.streamDescription(stream: 1, ScriptedAgent.description))
        try next.sendPacket([0, 0, 0, 1, 0x65, 2], pts: MonotonicClock.now(), isKeyframe: true)
        try viewer.receiveState(.live)
        #expect(try halfOpen.isCut(within: .seconds(2)))
      }
    }

    private func startAgent(
      _ port: UInt16, in directory: TestDirectory, name: String = "agent"
    ) throws -> ProcessRun {
      try ProcessRun(
        program("capture-agent"),
        ["--listen", "127.0.0.1:\(port)", "--source", "pattern", "--va-display", "none"]
          + ["--size", "640x480"], name: name, environment: ["XDG_RUNTIME_DIR": directory.path],
        in: directory)
    }
  }
}
