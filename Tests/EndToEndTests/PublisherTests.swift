import Glibc
import Posix
import TestSupport
import Testing

extension EndToEnd {
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
        let before = try ProcessFootprint(of: relay.process.pid)
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
        let after = try ProcessFootprint(of: relay.process.pid)
        print("relay: private memory \(before.privateKB) kB before, \(after.privateKB) kB after")
        #expect(after.privateKB - before.privateKB < 1024)
        agent.end()
      }
    }

    @Test
    func `BL-31: a link whose way is cut without a word is replaced within 10 s by the same agent`()
      throws
    {
      try withTestDirectory { directory in
        let (port, way) = (freePort(), freePort())
        let agent = try startAgent(port, in: directory)
        defer { agent.end() }
        let proxy = try ProcessRun(
          "/usr/bin/python3", ["-c", Self.proxy, "\(way)", "\(port)"], name: "proxy", in: directory)
        defer { proxy.end() }
        let relay = try RelayRun(
          ["--agent", "127.0.0.1:\(way)"], in: directory, program: program("host-relay"))
        defer { relay.process.end() }
        let viewers = try (0..<20).map { _ in try ScriptedPeer.consumer(of: relay.consumers) }
        for viewer in viewers { try viewer.receiveState(.live) }
        let carrier = try #require(
          proxy.output.split(separator: "\n").last.flatMap { pid_t($0) }, "\(proxy.output)")
        kill(carrier, SIGSTOP)
        defer { kill(carrier, SIGKILL) }
        let begin = ContinuousClock.now
        for viewer in viewers {
          #expect(try viewer.receiveState(.interrupted) == "silent for 5 s")
          try viewer.receive("a keyframe") {
            $0.header.kind == .packet && $0.header.flags.contains(.keyframe) ? () : nil
          }
          try viewer.receiveState(.live)
        }
        print("live again after \(ContinuousClock.now - begin)")
        #expect(ContinuousClock.now - begin < .seconds(10))
        #expect(agent.exitCode == nil)
      }
    }

    /// Carries connections from one port to another, each by a process of its own that prints its
    /// pid. One that is stopped loses what is sent, and its ends stay open.
    private static let proxy = """
      import os, select, signal, socket, sys
      signal.signal(signal.SIGCHLD, signal.SIG_IGN)
      listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
      while True:
          here, _ = listener.accept()
          if os.fork():
              here.close()
              continue
          listener.close()
          try:
              there = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
              print(os.getpid(), flush=True)
              while True:
                  for end in select.select([here, there], [], [])[0]:
                      (there if end is here else here).sendall(end.recv(65536) or sys.exit())
          finally:
              os._exit(0)
      """

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
