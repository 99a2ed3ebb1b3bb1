import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

/// The executable against a scripted agent and real clients.
@Suite struct RelayTests {
  private func now() -> Int64 { MonotonicClock.now() }

  @Test("a packet reaches every consumer as it was sent, and is acknowledged")
  func packets() throws {
    try withRelay { relay, agent, _ in
      let link = try agent.begin()
      let consumers = try (0..<3).map { _ in try ScriptedPeer.consumer(of: relay.consumers) }
      for consumer in consumers { try consumer.receiveState(.starting) }
      let time = now()
      try link.sendPacket([0, 0, 0, 1, 0x65, 7], pts: time, isKeyframe: true)
      for consumer in consumers {
        let packet = try consumer.receive("packet") { $0.header.kind == .packet ? $0 : nil }
        #expect(Array(packet.payload) == [0, 0, 0, 1, 0x65, 7])
        #expect(packet.header.pts == time)
        #expect(packet.header.flags == .keyframe)
        try consumer.receiveState(.live)
      }
      let acknowledged = try link.receive("acknowledgement") { raw -> UInt64? in
        guard case .acknowledgement(let packets) = try? Message(raw) else { return nil }
        return packets
      }
      #expect(acknowledged == 1)
    }
  }

  @Test("an agent is told how many read, and how many of them hold pictures back")
  func audience() throws {
    try withRelay { relay, agent, directory in
      let link = try agent.begin()
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.starting)
      let player = try ProcessRun(
        "curl", ["-sN", "http://\(relay.http)/live.ts"], name: "player", in: directory)
      defer { player.end() }
      try link.receive("audience") { raw in
        try? Message(raw) == .audience(readers: 2, containers: 1) ? () : nil
      }
      player.end()
      try link.receive("audience") { raw in
        try? Message(raw) == .audience(readers: 1, containers: 0) ? () : nil
      }
    }
  }

  @Test("consumers stay through an agent's death, read why, and see PTS that never go back")
  func agentDies() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.waiting)
      var last = Int64.min
      for instance in 1...3 as ClosedRange<UInt64> {
        let link = try agent.begin(instance: instance)
        // A picture that leans on another agent's is withheld.
        try link.sendPacket([0, 0, 0, 1, 0x41], pts: 1, isKeyframe: false)
        try link.sendPacket([0, 0, 0, 1, 0x65], pts: 2, isKeyframe: true)
        let header = try consumer.receivePacket()
        #expect(header.flags.contains(.keyframe))
        #expect(header.pts > last)
        last = header.pts
        try consumer.receiveState(.live)
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        #expect(try consumer.receiveState(.interrupted) == "closed by the peer")
      }
    }
  }

  @Test("a session without an agent ends after the hold time, for every consumer")
  func holdTime() throws {
    try withRelay(["--hold", "1"]) { relay, agent, directory in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      do {
        let link = try agent.begin()
        try link.sendPacket([0, 0, 0, 1, 0x65, 1, 2, 3], pts: now(), isKeyframe: true)
        try consumer.receiveState(.live)
      }
      let player = try ProcessRun(
        "curl", ["-sN", "http://\(relay.http)/live.ts"], name: "player", in: directory)
      try consumer.receiveState(.interrupted)
      let end = try consumer.receive("finished") { raw -> FinishCode? in
        guard case .finished(let code, _) = try? Message(raw) else { return nil }
        return code
      }
      #expect(end == .agentLost)
      try consumer.receiveState(.waiting)
      #expect(try player.waitForEnd() == 0, "a container ends with the session")
    }
  }

  @Test("a screen that went away and does not come back ends the session as that")
  func sourceEnd() throws {
    try withRelay(["--hold", "1"]) { relay, agent, directory in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      // Closed with what the relay has said unread, it would be reset, and its last word lost.
      let link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65, 1, 2, 3], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      try link.send(.finished(.sourceEnded, "the window is closed"))
      shutdown(link.socket.raw, Int32(SHUT_WR))
      #expect(try consumer.receiveState(.interrupted) == "source-ended: the window is closed")
      #expect(
        try consumer.receiveState(.finished)
          == "source-ended: the window is closed, and has not come back")
      withExtendedLifetime(link) {}
    }
  }

  @Test("an agent that comes back without a picture begins the next session after the hold time")
  func holdTimeWithAgent() throws {
    try withRelay(["--hold", "1"]) { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      do {
        let link = try agent.begin()
        try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
        try consumer.receiveState(.live)
      }
      try consumer.receiveState(.interrupted)
      let link = try agent.begin(instance: 2)
      #expect(try consumer.receiveState(.finished).hasPrefix("agent-lost"))
      try consumer.receiveState(.starting)
      try consumer.receive("description") {
        $0.header.kind == .streamDescription ? () : nil
      }
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
    }
  }

  // The new session took the id that the agent carried, which every consumer knew as finished.
  @Test("a session that is over does not come back with its agent")
  func endedSession() throws {
    try withRelay(["--hold", "1"]) { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      func session(in state: SessionState) throws -> UInt64 {
        try consumer.receive("state \(state.word)") { raw in
          guard case .sessionState(state, let id, _, _) = try? Message(raw) else { return nil }
          return id
        }
      }
      let first: UInt64
      do {
        let link = try agent.begin()
        try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
        first = try session(in: .live)
      }
      #expect(try session(in: .finished) == first)
      let (link, _) = try agent.link(session: first)
      #expect(try session(in: .starting) != first)
      try link.send(.streamDescription(stream: 1, ScriptedAgent.description))
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      #expect(try session(in: .live) != first)
    }
  }

  @Test("a finished broadcast is logged once, in one line, and so is an interruption")
  func eventLines() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      func lines(_ word: String) -> Int {
        relay.process.errors.split(separator: "\n").count { $0.contains(word) }
      }
      var link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      // The port of an agent that dies breaks one connection more.
      shutdown(try agent.accept().socket.raw, Int32(SHUT_RDWR))
      link = try agent.begin(instance: 2)
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      try link.send(.finished(.finished, "ended by the user"))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      #expect(try consumer.receiveState(.finished) == "ended by the user")
      #expect(lines("interrupted") == 1)
      #expect(lines("link 2: ") == 0)
      #expect(lines(": finished: ended by the user") == 1)
      #expect(lines("finished: finished") == 0)
      #expect(lines("waits for an agent on \(agent.address)") == 1)
    }
  }

  @Test("an agent that finishes ends the session with its word")
  func agentFinishes() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      let link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      try link.send(.finished(.revoked, "by the user"))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      #expect(try consumer.receiveState(.finished) == "revoked: by the user")
      try consumer.receiveState(.waiting)
    }
  }

  @Test("pause and resume reach the consumers")
  func pause() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      let link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      try link.send(.paused([.locked, .control]))
      #expect(try consumer.receiveState(.paused) == "the session is locked")
      try link.send(.resumed)
      try consumer.receiveState(.live)
    }
  }

  @Test("a silent agent is given up after five seconds")
  func silence() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      let link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      let begin = ContinuousClock.now
      #expect(try consumer.receiveState(.interrupted) == "silent for 5 s")
      #expect(ContinuousClock.now - begin > .seconds(4))
    }
  }

  @Test("an agent that does not know the token is not believed")
  func wrongToken() throws {
    try withTestDirectory { directory in
      _ = try RelayRun.token(in: directory)
      let impostor = try ScriptedAgent(token: LinkToken(bytes: [UInt8](repeating: 7, count: 32)))
      let relay = try RelayRun(["--agent", "\(impostor.address)"], in: directory)
      defer { relay.process.end() }
      let (peer, _) = try impostor.link()
      #expect(try peer.receive() == nil)
      try waitUntil("the refusal in the status") {
        try relay.get("/api/v1/status").contains("does not know the token") ? () : nil
      }
      // It goes on trying, says so once, and what to do.
      for _ in 1...3 { _ = try impostor.link() }
      #expect(relay.process.errors.split(separator: "token: run both with").count == 2)
    }
  }

  @Test("bytes that are no messages end the link, and the relay comes back")
  func garbage() throws {
    try withRelay { _, agent, _ in
      var numbers = SplitMix(seed: 2)
      for _ in 0..<4 {
        let link = try agent.begin()
        try? link.send((0..<5000).map { _ in UInt8(numbers.below(256)) })
        while try link.receive() != nil {}
      }
    }
  }

  @Test("signals finish the broadcast for the agent and for consumers, with exit code 0")
  func finish() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      let link = try agent.begin()
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: now(), isKeyframe: true)
      try consumer.receiveState(.live)
      relay.process.signal(SIGTERM)
      try link.receive("finish") { $0.header.kind == .finish ? () : nil }
      try consumer.receive("finished") { $0.header.kind == .finished ? () : nil }
      #expect(try relay.process.waitForEnd() == 0)
      #expect(!relay.process.errors.contains("left open"))
    }
  }
}

/// What a consumer that reads nothing costs, and whom.
@Suite struct SlowConsumerTests {
  @Test("consumers that read nothing are closed, and one that reads loses nothing")
  func readsNothing() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(agent.address)"], in: directory)
      defer { relay.process.end() }
      let link = try agent.begin()
      let reading = try ScriptedPeer.consumer(of: relay.consumers)
      let silent = try ScriptedPeer.consumer(of: relay.consumers)
      let player = try ScriptedPeer(to: relay.http)
      try player.send(Array("GET /live.ts HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
      _ = try link.receive("audience") { raw -> Bool? in
        try? Message(raw) == .audience(readers: 3, containers: 1) ? true : nil
      }
      // Far beyond what the kernel holds for two seconds.
      let filler = [UInt8](repeating: 0x55, count: 200_000)
      var sent: UInt64 = 0
      try waitUntil("both closed", within: .seconds(20)) {
        let isKeyframe = sent.isMultiple(of: 10)
        try link.sendPacket(
          [0, 0, 0, 1, isKeyframe ? 0x65 : 0x41] + filler, pts: MonotonicClock.now(),
          isKeyframe: isKeyframe)
        sent += 1
        #expect(try reading.receivePacket().length == filler.count + 5)
        let status = try relay.get("/api/v1/status")
        return status.components(separatedBy: "\"closed_slow\":1").count == 3
      }
      let status = try relay.get("/api/v1/status")
      #expect(status.contains("\"state\":\"live\""))
      _ = silent
    }
  }
}
