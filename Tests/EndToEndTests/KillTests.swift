import Glibc
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Kills {
    @Test func `ten killed agents cost a viewer no connection and no more than 2 s of picture`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        let player = try Player(broadcast.liveTS, in: directory)
        var last = try player.waitForCounter(past: 0, within: .seconds(5))
        for _ in 1...10 {
          // Long enough for the agent to count as sound: five deaths in ten seconds are a crash loop.
          last = try player.waitForCounter(past: last + 75, within: .seconds(6))
          let agent = try #require(broadcast.agentPID)
          kill(agent, SIGKILL)
          let killed = ContinuousClock.now
          // Ten pictures later than the last one seen: more than can be on their way.
          last = try player.waitForCounter(past: last + 10, within: .seconds(2))
          print("a picture \(killed.duration(to: .now)) after the kill")
          try waitUntil(
            "another agent", isTrue: { broadcast.agentPID.map { $0 != agent } ?? false })
        }
        #expect(player.isConnected)
        #expect(try #require(broadcast.status).lastDeath.contains("SIGKILL"))
      }
    }

    @Test func `an agent whose relay is killed keeps its screen and goes on with the next relay`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        broadcast.relay.signal(SIGKILL)
        try broadcast.relay.waitForEnd()
        try broadcast.startRelayAgain()
        let status = try broadcast.waitUntilLive(within: .seconds(5))
        #expect(status.agentPID == agent)
        let player = try Player(broadcast.liveTS, in: directory)
        try player.waitForCounter(past: 0, within: .seconds(3))
      }
    }

    // The next agents asked a portal that answers nothing without PipeWire: "nobody answered" after two
    // minutes, which is final. They end at once, too soon to be seen in the status.
    @Test func `a desktop whose PipeWire dies is broadcast again once it is mended`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        kill(try desktop.pid(of: "pipewire"), SIGKILL)
        try waitUntil("the cause of the next agent's end") {
          let status = broadcast.status
          return status?.lastDeath.contains("PipeWire cannot be reached") == true ? () : nil
        }
        try desktop.mend()
        try broadcast.waitUntilLive(within: .seconds(10))
        let lines = broadcast.relay.errors.split(separator: "\n")
        let cause = try #require(lines.lastIndex { $0.contains("tried again until") })
        try waitUntil("what the next agent kept back") {
          let lines = broadcast.relay.errors.split(separator: "\n")[cause...]
          return lines.contains { $0.contains("capturing") } ? () : nil
        }
        // libpipewire wrote two lines of its own at each start.
        let strange = lines.filter {
          !$0.hasPrefix("host-relay: ") && !$0.hasPrefix("capture-agent: ")
        }
        #expect(strange == [])
      }
    }

    // A portal's backend that crashes was taken for a user who had seen enough.
    @Test func `a screencast that the desktop drops is asked for again`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        kill(try desktop.pid(of: "wlr"), SIGKILL)
        try waitUntil("the agent's end", isTrue: { broadcast.status?.lastDeath.isEmpty == false })
        try desktop.mend()
        try broadcast.waitUntilLive(within: .seconds(10))
      }
    }

    @Test func `the relay's end is the end of the agent that it started`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        broadcast.relay.signal(SIGTERM)
        #expect(try broadcast.relay.waitForEnd() == 0)
        #expect(kill(agent, 0) == -1)
      }
    }
  }
}
