import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// What goes wrong is one line that says what and what to do, and the code of the table.
  @Suite struct ExitCodes {
    @Test(arguments: ["capture-agent", "host-relay"])
    func `a wrong option ends with 64 and is named`(name: String) throws {
      try withTestDirectory { directory in
        try expect(64, "--nonsense", of: name, ["--nonsense"], in: directory)
      }
    }

    @Test func `no PipeWire ends with 69 and is named`() throws {
      try withTestDirectory { directory in
        try expectAgentEnd("PipeWire", source: "node:screen", in: directory)
      }
    }

    // It made a token there, which no relay knows.
    @Test func `a token file that is not there ends with 69 and is named`() throws {
      try withTestDirectory { directory in
        let file = directory.file("tokne")
        let words = ["--source", "pattern", "--va-display", "none", "--token-file", file]
        try expect(69, file, of: "capture-agent", words, in: directory)
        #expect(access(file, F_OK) != 0)
      }
    }

    // Each try wrote eight lines, every two seconds.
    @Test func `what is missing is tried again, and said once`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--source", "node:screen"])
        try waitUntil(
          "the fourth death", within: .seconds(20),
          isTrue: { broadcast.status?.json["deaths"] as? Int ?? 0 >= 4 })
        let lines = broadcast.relay.errors.split(separator: "\n")
        for words in ["PipeWire cannot be reached", "tried again until", "started agent"] {
          #expect(lines.count { $0.contains(words) } == 1, "\(words): \(lines)")
        }
        #expect(lines.count < 16, "\(lines)")
      }
    }

    @Test func `no portal ends with 69 and is named`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        kill(try desktop.pid(of: "portal"), SIGKILL)
        try expectAgentEnd("portal", source: "portal", in: directory, desktop: desktop)
      }
    }

    @Test(.enabled(if: access("/dev/dri", F_OK) != 0, "there is a VA device here"))
    func `no VA device ends with 69 and the way out is named`() throws {
      try withTestDirectory { directory in
        let words = ["--source", "pattern", "--hold", "5"]
        try expect(69, "--va-display none", of: "capture-agent", words, in: directory)
      }
    }

    @Test func `a port in use ends with 75 and is named`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory)
        try broadcast.waitUntilLive()
        let agent = "\(broadcast.ports.agent)"
        try expect(
          75, agent, of: "capture-agent",
          ["--listen", "127.0.0.1:\(agent)", "--source", "pattern", "--va-display", "none"],
          in: directory)
        let http = "\(broadcast.ports.http)"
        try expect(
          75, http, of: "host-relay",
          ["--http", "127.0.0.1:\(http)", "--consumers", "127.0.0.1:\(freePort())"], in: directory)
      }
    }

    // It used to end in the midst of the start, with the code of a bug.
    @Test func `too few open files allowed ends with 69 and is named`() throws {
      try withTestDirectory { directory in
        let words = "--source pattern --va-display none --listen 127.0.0.1:\(freePort())"
        let run = try ProcessRun.run(
          "sh", ["-c", "ulimit -n 24; exec \(program("capture-agent")) \(words)"],
          environment: ["XDG_RUNTIME_DIR": directory.path], in: directory)
        #expect(run.exitCode == 69, "\(run.errors)")
        #expect(run.errors.contains("ulimit -n"), "\(run.errors)")
      }
    }

    @Test func `no relay within the hold time ends with 69`() throws {
      try withTestDirectory { directory in
        let words = ["--source", "pattern", "--va-display", "none", "--hold", "1"]
        try expect(69, "relay", of: "capture-agent", words, in: directory)
      }
    }

    /// An agent looks for its screen once a relay is there, and says what is missing to both.
    private func expectAgentEnd(
      _ word: String, source: String, in directory: TestDirectory, desktop: DesktopSession? = nil
    ) throws {
      let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--source", source])
      let end = try waitUntil("the agent's end in the status") {
        let words = broadcast.status?.lastDeath ?? ""
        return words.isEmpty ? nil : words
      }
      #expect(end.contains("(exit 69)"), "\(end)")
      #expect(end.contains(word), "\(end)")
      #expect(broadcast.relay.errors.contains("capture-agent: "))
    }

    private func expect(
      _ code: Int32, _ word: String, of name: String, _ arguments: [String],
      in directory: TestDirectory, environment: [String: String]? = nil
    ) throws {
      let port =
        arguments.contains("--listen") || name != "capture-agent"
        ? []
        : [
          "--listen", "127.0.0.1:\(freePort())",
        ]
      let run = try ProcessRun.run(
        program(name), arguments + port, name: "failing",
        environment: environment
          ?? ["XDG_RUNTIME_DIR": directory.path, "DBUS_SESSION_BUS_ADDRESS": ""],
        in: directory)
      #expect(run.exitCode == code, "\(run.errors)")
      let lastLine = run.errors.split(separator: "\n").last ?? ""
      #expect(lastLine.contains(word), "\(run.errors)")
    }
  }
}
