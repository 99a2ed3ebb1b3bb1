import Glibc
import Posix
import Report
import TestSupport
import Testing
import Wire

/// The relay as its agent's parent.
@Suite struct SpawnTests {
  /// A free port on which nobody listens.
  private func freePort() throws -> SocketAddress {
    let socket = try TCPSocket.listen(
      on: SocketAddress(bytes: [127, 0, 0, 1], port: 0), backlog: 1)
    return try #require(SocketAddress.local(of: socket.raw))
  }

  private func status(_ relay: RelayRun) throws -> String { try relay.get("/api/v1/status") }

  @Test(
    "an agent whose end is final ends the relay with its code",
    arguments: [0, 64, 77])
  func finalEnds(code: Int32) throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(
        ["--agent", "\(try freePort())", "--spawn-agent", "sh -c 'exit \(code)'"], in: directory)
      #expect(try relay.process.waitForEnd() == code)
    }
  }

  @Test(
    "an agent that dies otherwise is named in the status and started again",
    arguments: [
      ("exit 86", "ended by its memory limit (exit 86)"), ("kill -9 $$", "killed by SIGKILL"),
      ("exit 69", "something it needs is missing (exit 69)"),
    ])
  func otherEnds(command: String, words: String) throws {
    try withTestDirectory { directory in
      let script = "echo x >> \(directory.file("starts")); \(command)"
      let relay = try RelayRun(
        ["--agent", "\(try freePort())", "--spawn-agent", "sh -c '\(script)'"], in: directory)
      defer { relay.process.end() }
      try waitUntil("the words") { try status(relay).contains(words) }
      try waitUntil("three starts") { try readFile(directory.file("starts")).count >= 6 }
    }
  }

  // It used to try for ever, and whoever started it saw nothing.
  @Test("a stranger on the agent's port ends a relay that starts agents with 75, and is named")
  func takenPort() throws {
    try withTestDirectory { directory in
      let stranger = try TCPSocket.listen(
        on: SocketAddress(bytes: [127, 0, 0, 1], port: 0), backlog: 8)
      let address = try #require(SocketAddress.local(of: stranger.raw))
      let relay = try RelayRun(
        ["--agent", "\(address)", "--spawn-agent", "sh -c 'exit 70'"], in: directory)
      #expect(try relay.process.waitForEnd(within: .seconds(20)) == 75)
      #expect(relay.process.errors.contains("port \(address.port) is in use"))
      #expect(SocketAddress.local(of: stranger.raw) == address)
    }
  }

  @Test("an agent that dies at once again and again is a crash loop: said, and slowed down")
  func crashLoop() throws {
    try withTestDirectory { directory in
      let starts = directory.file("starts")
      let relay = try RelayRun(
        [
          "--agent", "\(try freePort())", "--spawn-agent",
          "sh -c 'date +%s%N >> \(starts); exit 86'",
        ], in: directory)
      defer { relay.process.end() }
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      _ = try consumer.receive("the crash loop", within: .seconds(15)) { raw -> Bool? in
        guard case .sessionState(_, _, _, let text) = try? Message(raw),
          text == "crash loop: ended by its memory limit (exit 86)"
        else { return nil }
        return true
      }
      #expect(try status(relay).contains("\"crash_loop\":true"))
      let count = try nanoseconds(in: starts).count
      let times = try waitUntil("two more starts", within: .seconds(10)) {
        let times = try nanoseconds(in: starts)
        return times.count >= count + 2 ? times : nil
      }
      #expect(times[count + 1] - times[count] > 1_900_000_000)
    }
  }

  private func nanoseconds(in file: String) throws -> [Int] {
    String(decoding: try readFile(file), as: UTF8.self).split(separator: "\n").compactMap {
      Int($0)
    }
  }

  @Test("a program that is not there is named")
  func missingProgram() throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(
        ["--agent", "\(try freePort())", "--spawn-agent", "/no/such/agent"], in: directory)
      defer { relay.process.end() }
      try waitUntil("the reason") {
        try status(relay).contains("cannot be started: no such file or directory")
      }
    }
  }

  @Test("nothing is started while somebody answers, and an adopted agent's last words are read")
  func adopted() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(
        [
          "--agent", "\(agent.address)", "--spawn-agent",
          "sh -c 'echo x >> \(directory.file("starts"))'",
        ], in: directory)
      defer { relay.process.end() }
      let link = try agent.begin(instance: 5, pid: 1_000_001)
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.starting)
      try link.sendPacket([0, 0, 0, 1, 0x65], pts: 1, isKeyframe: true)
      try consumer.receiveState(.live)
      let file = try LastWords.open(
        in: RuntimeDirectory(path: directory.file("porthole")), port: agent.address.port,
        pid: 1_000_001, instance: 5)
      LastWords(pid: 1_000_001, instance: 5, code: 86, text: "malloc").write(to: file.raw)
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      _ = try consumer.receive("the cause", within: .seconds(1)) { raw -> Bool? in
        guard case .sessionState(.interrupted, _, _, let text) = try? Message(raw),
          text == "ended by its memory limit (exit 86): malloc"
        else { return nil }
        return true
      }
      #expect(access(directory.file("starts"), F_OK) != 0)
    }
  }

  @Test("what an agent said over its link is preferred to the short record of its last words")
  func fullText() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(agent.address)"], in: directory)
      defer { relay.process.end() }
      let link = try agent.begin(instance: 5, pid: 1_000_001)
      let file = try LastWords.open(
        in: RuntimeDirectory(path: directory.file("porthole")), port: agent.address.port,
        pid: 1_000_001, instance: 5)
      let text = "the session bus does not answer, is a desktop session running here?"
      LastWords(pid: 1_000_001, instance: 5, code: 69, text: text).write(to: file.raw)
      try link.send(.finished(.unavailable, text))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      try waitUntil("the whole text") {
        try status(relay).contains(
          "\"last_death\":\"agent 1000001: something it needs is missing (exit 69): \(text)\"")
      }
    }
  }

  @Test("an adopted agent that is gone without a word is a death all the same")
  func adoptedKilled() throws {
    try withTestDirectory { directory in
      var agent: ScriptedAgent? = try ScriptedAgent(token: RelayRun.token(in: directory))
      let address = try #require(agent?.address)
      let relay = try RelayRun(["--agent", "\(address)"], in: directory)
      defer { relay.process.end() }
      var link = try agent?.begin(pid: 1_000_002)
      try waitUntil("the agent") { try status(relay).contains("\"pid\":1000002") }
      agent = nil
      link = nil
      try waitUntil("its death") {
        try status(relay).contains("agent 1000002: ended without last words")
      }
      #expect(link == nil && agent == nil)
    }
  }

  // Until then a unit's parent alone knew what signal had ended it.
  @Test(
    "the end that systemd writes down for an agent of its own is told to viewers",
    arguments: [
      ("killed", "SEGV", "signal", "killed by SIGSEGV (a bad address)"),
      ("dumped", "ILL", "core-dump", "killed by SIGILL (a broken promise)"),
      ("killed", "KILL", "timeout", "killed by SIGKILL: timeout"),
      ("killed", "KILL", "oom-kill", "ended by the memory limit of its control group (SIGKILL)"),
    ])
  func recordedEnd(how: String, status: String, result: String, words: String) throws {
    try withTestDirectory { directory in
      var agent: ScriptedAgent? = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(try #require(agent).address)"], in: directory)
      defer { relay.process.end() }
      // A pid beyond those that the kernel gives.
      var link = try agent?.begin(instance: 5, pid: 5_000_001)
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.starting)
      try link?.sendPacket([0, 0, 0, 1, 0x65], pts: 1, isKeyframe: true)
      try consumer.receiveState(.live)
      let folder = try RuntimeDirectory(path: directory.file("porthole"))
      let port = try #require(agent).address.port
      _ = try LastWords.open(in: folder, port: port, pid: 5_000_001, instance: 5)
      agent = nil
      link = nil
      let variables = ["EXIT_CODE": how, "EXIT_STATUS": status, "SERVICE_RESULT": result]
      LastWords.complete(
        with: try #require(ServiceEnd { variables[$0] }), in: folder, port: port)
      _ = try consumer.receive("the cause", within: .seconds(1)) { raw -> Bool? in
        guard case .sessionState(_, _, _, let text) = try? Message(raw), text == words
        else { return nil }
        return true
      }
      #expect(link == nil && agent == nil)
    }
  }

  @Test("an agent whose port another one has is dead, and was not told of")
  func replaced() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(agent.address)"], in: directory)
      defer { relay.process.end() }
      let first = try agent.begin(instance: 5, pid: 1_000_003)
      shutdown(first.socket.raw, Int32(SHUT_RDWR))
      let second = try agent.begin(instance: 6, pid: 1_000_004)
      try waitUntil("its death") {
        try status(relay).contains("agent 1000003: ended without last words")
      }
      #expect(try status(relay).contains("\"deaths\":1"))
      #expect(second.socket.raw >= 0)
    }
  }

  @Test("an agent that hangs is given up, killed by its relay, and replaced")
  func hung() throws {
    try withTestDirectory { directory in
      let port = try freePort()
      // Listens, and never says a word: what a stopped agent looks like to its relay.
      let script =
        "import socket,time; s=socket.create_server((\"127.0.0.1\",\(port.port)));"
        + "open(\"\(directory.file("starts"))\",\"a\").write(\"x\"); time.sleep(60)"
      let relay = try RelayRun(
        ["--agent", "\(port)", "--spawn-agent", "/usr/bin/python3 -c '\(script)'"], in: directory)
      defer { relay.process.end() }
      try waitUntil("the second start", within: .seconds(15)) {
        (try? readFile(directory.file("starts")))?.count == 2
      }
      #expect(try status(relay).contains("hung, and was killed"))
    }
  }

  @Test("a relay that is killed leaves its agent alive, and one that is ended does not")
  func survival() throws {
    try withTestDirectory { directory in
      let pidFile = directory.file("pid")
      let arguments = [
        "--agent", "\(try freePort())", "--spawn-agent",
        "sh -c 'echo $$ > \(pidFile).new; mv \(pidFile).new \(pidFile); exec sleep 60'",
      ]
      func agentPid() throws -> pid_t {
        try waitUntil("the agent's pid") { () -> pid_t? in
          guard access(pidFile, F_OK) == 0 else { return nil }
          return pid_t(
            String(decoding: try readFile(pidFile), as: UTF8.self).filter(\.isNumber))
        }
      }
      let first = try RelayRun(arguments, in: directory, name: "first")
      let orphan = try agentPid()
      first.process.signal(SIGKILL)
      try first.process.waitForEnd()
      #expect(kill(orphan, 0) == 0)
      #expect(kill(orphan, SIGKILL) == 0)
      unlink(pidFile)
      let second = try RelayRun(arguments, in: directory, name: "second")
      let child = try agentPid()
      second.process.signal(SIGINT)
      #expect(try second.process.waitForEnd() == 0)
      #expect(kill(child, 0) != 0)
    }
  }
}
