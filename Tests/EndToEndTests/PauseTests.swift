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
      try withAgent { agent, link in
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
      }
    }

    @Test func `reasons that overlap end one by one, and all at once by whoever controls`() throws {
      try withAgent { agent, link in
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
          return status?.state == "paused" && status?.json["text"] as? String == "by a signal"
        }
        try broadcast.control("resume")
        #expect(try broadcast.waitUntilLive().agentPID == agent)
      }
    }

    /// An agent by itself, with the test for a relay.
    private func withAgent(_ body: (ProcessRun, Link) throws -> Void) throws {
      try withTestDirectory { directory in
        let token = try RelayRun.token(in: directory)
        let port = freePort()
        let agent = try ProcessRun(
          program("capture-agent"),
          [
            "--listen", "127.0.0.1:\(port)", "--va-display", "none", "--source", "pattern",
            "--size", "320x240", "--fps", "60",
          ], environment: RelayRun.environment(of: directory), in: directory)
        defer { agent.end() }
        try waitUntil("the agent") { agent.errors.contains("listening on") }
        let address = SocketAddress(bytes: [127, 0, 0, 1], port: port)
        let peer = try ScriptedPeer(to: address)
        try peer.send(
          .greeting(
            Greeting(role: .relay, pid: 1, instance: 1, session: 1, epoch: 1, key: token.bytes)))
        try body(agent, Link(peer: peer))
        #expect(agent.exitCode == nil)
      }
    }

    /// What must hold of everything that an agent says.
    private final class Link {
      let peer: ScriptedPeer
      private var packets: UInt64 = 0
      private var pts = Int64.min
      private var isPaused = false
      private var isDescribed = false
      private var needsKeyframe = true

      init(peer: ScriptedPeer) { self.peer = peer }

      func takePackets(_ count: Int) throws {
        let wanted = packets + UInt64(count)
        while packets < wanted { _ = try take() }
      }

      /// The reasons of the next pause.
      func pause() throws -> PauseReasons {
        while true {
          if case .paused(let reasons) = try take() { return reasons }
        }
      }

      /// The end of the pause, and the picture behind it.
      func resume() throws {
        while isPaused { _ = try take() }
        try takePackets(1)
      }

      private func take() throws -> Message? {
        guard let raw = try peer.receive() else {
          throw ProcessFailure(description: "the link ended")
        }
        guard raw.header.kind == .packet else {
          let message = try Message(raw)
          switch message {
          case .paused: isPaused = true
          case .resumed:
            isPaused = false
            isDescribed = false
            needsKeyframe = true
          case .streamDescription: isDescribed = true
          default: break
          }
          return message
        }
        packets += 1
        try peer.send(.acknowledgement(packets: packets))
        #expect(!isPaused && isDescribed)
        #expect(!needsKeyframe || raw.header.flags.contains(.keyframe))
        needsKeyframe = false
        #expect(raw.header.pts > pts)
        pts = raw.header.pts
        return nil
      }
    }
  }
}
