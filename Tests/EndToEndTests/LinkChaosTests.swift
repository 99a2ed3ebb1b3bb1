import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// A link that breaks in every way that a link can, again and again, with a seed.
  @Suite struct LinkChaos {
    private enum Fault: CaseIterable {
      case cutInMidMessage
      case closedBeforeGreeting
      case refused
      case delayed
      case halfOpen
    }

    @Test func `whatever happens to the link, viewers stay, PTS rise and no descriptor is lost`()
      throws
    {
      try withTestDirectory { directory in
        let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
        let relay = try RelayRun(
          ["--agent", "\(agent.address)"], in: directory, program: program("host-relay"))
        defer { relay.process.end() }
        let viewers = try (0..<3).map { _ in Watcher(try .consumer(of: relay.consumers)) }
        let seed: UInt64 = 5
        var numbers = SplitMix(seed: seed)
        var instance: UInt64 = 1
        var link = try agent.begin(instance: instance)
        try show(on: link, to: viewers)
        var memory = MemoryWatch()
        let descriptors = try ProcessFootprint(of: relay.process.pid).descriptorCount
        for round in 1...(isLongRun ? 1000 : 10) {
          let fault = Fault.allCases[numbers.below(Fault.allCases.count)]
          if fault == .delayed {
            // Less than what counts as stalled: nothing is given up.
            _ = poll(nil, 0, Int32(numbers.below(2500)))
          } else {
            try strike(fault, agent, &link, &numbers)
            instance += 1
            link = try agent.begin(instance: instance)
          }
          try show(on: link, to: viewers)
          try waitUntil("descriptors as they were: round \(round) of seed \(seed), \(fault)") {
            try ProcessFootprint(of: relay.process.pid).descriptorCount <= descriptors
          }
          memory.note(try ProcessFootprint(of: relay.process.pid))
        }
        memory.expectNoGrowth()
      }
    }

    private func strike(
      _ fault: Fault, _ agent: ScriptedAgent, _ link: inout ScriptedPeer, _ numbers: inout SplitMix
    ) throws {
      switch fault {
      case .cutInMidMessage:
        let message = Message.started(.init(name: "cut", source: "script", driver: "none"))
          .encoded()
        try link.send(Array(message.prefix(1 + numbers.below(message.count - 1))))
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
      case .closedBeforeGreeting:
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        let next = try agent.accept()
        shutdown(next.socket.raw, Int32(SHUT_RDWR))
      case .refused:
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        let next = try agent.accept()
        try next.send(.refusal(.busy, "another relay is linked"))
        shutdown(next.socket.raw, Int32(SHUT_WR))
        _ = try next.isCut(within: .seconds(2))
      case .halfOpen:
        let halfOpen = link
        try waitUntil("the relay gives up", within: .seconds(8)) {
          halfOpen.discardInput()
          return try halfOpen.isCut(within: .milliseconds(100))
        }
      case .delayed: break
      }
    }

    /// Sends a keyframe and sees it at each viewer.
    private func show(on link: ScriptedPeer, to viewers: [Watcher]) throws {
      try link.sendPacket([0, 0, 0, 1, 0x65, 1], pts: MonotonicClock.now(), isKeyframe: true)
      for viewer in viewers { try viewer.watch(after: viewer.lastPTS) }
      #expect(Set(viewers.map(\.lastPTS)).count == 1)
    }
  }
}
