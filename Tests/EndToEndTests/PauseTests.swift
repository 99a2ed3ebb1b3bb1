import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// A pause by each way in, as the link says it and as viewers see it.
  @Suite struct Pauses {
    @Test func `whoever pauses an agent, no packet comes before it goes on, and a keyframe then`()
      throws
    {
      try withAgentAlone { agent, link in
        var random = SplitMix(seed: 3)
        let ways: [(begin: () throws -> Void, end: () throws -> Void, reason: PauseReasons)] = [
          ({ agent.signal(SIGUSR1) }, { agent.signal(SIGUSR2) }, .signal),
          (
            { try link.peer.send(.pause(.control)) }, { try link.peer.send(.resume) }, .control
          ),
          ({ try link.peer.send(.pause(.person)) }, { try link.peer.send(.resume) }, .person),
        ]
        for round in 0..<(isLongRun ? 300 : 15) {
          let way = ways[round % ways.count]
          try link.takePackets(Int(random.next() % 4))
          // Also in the midst of a picture.
          usleep(UInt32(random.next() % 40_000))
          try way.begin()
          #expect(try link.pause() == way.reason)
          usleep(UInt32(random.next() % 40_000))
          try way.end()
          try link.resume()
        }
        #expect(agent.exitCode == nil)
      }
    }

    @Test func `reasons that overlap end one by one, and all at once by whoever controls`() throws {
      try withAgentAlone { agent, link in
        try link.takePackets(1)
        agent.signal(SIGUSR1)
        #expect(try link.pause() == .signal)
        try link.peer.send(.pause(.control))
        #expect(try link.pause() == [.signal, .control])
        agent.signal(SIGUSR2)
        #expect(try link.pause() == .control)
        agent.signal(SIGUSR1)
        #expect(try link.pause() == [.signal, .control])
        try link.peer.send(.resume)
        try link.resume()
        // Nothing is left of it.
        agent.signal(SIGUSR2)
        try link.takePackets(3)
        #expect(agent.exitCode == nil)
      }
    }

    @Test func `viewers read why, and an agent's own pause outlives relay and agent`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "320x240"])
        defer { broadcast.end() }
        var agent = try #require(try broadcast.waitUntilLive().agentPID)
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        func state(_ wanted: SessionState) throws -> String {
          var last: RawMessage?
          let text = try viewer.receive("\(wanted)") { raw -> String? in
            last = raw
            guard case .sessionState(wanted, _, _, let text) = try? Message(raw) else { return nil }
            return text
          }
          #expect(last?.header.kind == .sessionState)
          return text
        }
        _ = try viewer.receivePacket()
        kill(agent, SIGUSR1)
        #expect(try state(.paused) == "by a signal")
        kill(agent, SIGUSR2)
        #expect(try state(.live) == "")
        #expect(try viewer.receivePacket().flags.contains(.keyframe))
        broadcast.relay.signal(SIGUSR1)
        #expect(try state(.paused) == "")
        broadcast.relay.signal(SIGUSR2)
        #expect(try state(.live) == "")

        kill(agent, SIGUSR1)
        #expect(try state(.paused) == "by a signal")
        kill(agent, SIGKILL)
        _ = try state(.interrupted)
        #expect(try state(.paused) == "by a signal")
        agent = try #require(broadcast.agentPID)

        broadcast.relay.signal(SIGKILL)
        try broadcast.relay.waitForEnd()
        try broadcast.startRelayAgain()
        try waitUntil("the pause that the agent kept") {
          let status = broadcast.status
          return status?.state == "paused" && status?.text == "by a signal"
        }
        try broadcast.control("resume")
        #expect(try broadcast.waitUntilLive().agentPID == agent)
      }
    }
  }
}
