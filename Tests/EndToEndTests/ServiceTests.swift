import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// What a service manager is told, and what it may pass: sd_notify(3), sd_listen_fds(3).
  @Suite struct Service {
    /// By a path, and by a name that is in no file system.
    @Test(arguments: [true, false])
    func `both programs say that they are ready, how it goes, that they live, and that they end`(
      isPath: Bool
    ) throws {
      try withTestDirectory { directory in
        let prefix = isPath ? directory.path + "/" : "@porthole-\(getpid())-"
        let (agentSocket, relaySocket) = (
          try NotifySocket(prefix + "a"), try NotifySocket(prefix + "r")
        )
        let agent = try notifying(
          "capture-agent",
          ["--source", "pattern", "--va-display", "none"]
            + ["--listen", "127.0.0.1:0"], to: prefix + "a", in: directory)
        try agentSocket.wait(for: "ready") { $0 == "READY=1" }
        let waiting = "STATUS=waiting for a relay on 127.0.0.1:"
        try agentSocket.wait(for: "status") { $0.hasPrefix(waiting) }
        let port = try #require(
          agentSocket.heard.lazy.compactMap {
            $0.line.hasPrefix(waiting) ? UInt16($0.line.dropFirst(waiting.count)) : nil
          }.first)
        let relay = try notifying(
          "host-relay",
          ["--agent", "127.0.0.1:\(port)", "--http", "127.0.0.1:0"]
            + ["--consumers", "127.0.0.1:0"], to: prefix + "r", in: directory)
        try relaySocket.wait(for: "ready") { $0 == "READY=1" }
        try relaySocket.wait(for: "status") { $0 == "STATUS=live" }
        try agentSocket.wait(for: "status") { $0 == "STATUS=capturing 1920x1080" }
        for (run, socket) in [(relay, relaySocket), (agent, agentSocket)] {
          try socket.wait(for: "sign of life") { $0 == "WATCHDOG=1" }
          run.signal(SIGTERM)
          try socket.wait(for: "end") { $0 == "STOPPING=1" }
          #expect(try run.waitForEnd() == 0)
          #expect(socket.heard.first?.line == "READY=1")
        }
        // They were left under the port that it was told to take, where no relay looks.
        let words = try readFile(directory.file("porthole/last-words-\(port)"))
        #expect(words.count == 64 && words.starts(with: Array("PHLW".utf8)))
        #expect(words[16..<20].allSatisfy { $0 == 0 }, "the exit code")
        #expect(access(directory.file("porthole/last-words-0"), F_OK) != 0)
      }
    }

    @Test(arguments: ["consumers:http", "", "porthole-relay.socket:porthole-relay.socket"])
    func `ports that are passed are served, and no child inherits anything of it`(names: String)
      throws
    {
      try withTestDirectory { directory in
        let (consumers, http) = (freePort(), freePort())
        let notify = try NotifySocket(directory.file("notify"))
        let look = "env > \(directory.file("env")); ls -l /proc/self/fd > \(directory.file("fds"))"
        var words = ["-l", "127.0.0.1:\(consumers)", "-l", "127.0.0.1:\(http)"]
        if !names.isEmpty { words += ["--fdname=\(names)"] }
        words += passing(directory.file("notify"), in: directory)
        words += [program("host-relay"), "--agent", "127.0.0.1:\(freePort())"]
        if names != "consumers:http" {
          words += ["--consumers", "127.0.0.1:\(consumers)", "--http", "127.0.0.1:\(http)"]
        }
        words += ["--spawn-agent", "sh -c '\(look); exit 64'"]
        let activated = try ProcessRun(
          "systemd-socket-activate", words, name: "activated", in: directory)
        try waitUntil("the ports", isTrue: { activated.errors.contains(":\(http) as 4") })
        // The first connection starts it, and is answered: healthz says what it waits for.
        let answer = try ProcessRun.run(
          "curl", ["-s", "--max-time", "10", "http://127.0.0.1:\(http)/healthz"], in: directory)
        #expect(answer.output.contains("waiting") || answer.output.contains("finished"))
        try notify.wait(for: "ready") { $0 == "READY=1" }
        #expect(try activated.waitForEnd() == 64, "\(activated.errors)")
        #expect(activated.output.contains("viewer address: http://127.0.0.1:\(http)/"))
        #expect(activated.output.contains("consumers: 127.0.0.1:\(consumers)"))
        let environment = String(decoding: try readFile(directory.file("env")), as: UTF8.self)
        for name in ["LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_"] {
          #expect(!environment.contains(name), "\(environment)")
        }
        let descriptors = String(decoding: try readFile(directory.file("fds")), as: UTF8.self)
        #expect(!descriptors.contains("socket:"), "\(descriptors)")
      }
    }

    @Test(arguments: [
      (["--fdname=other", "-l", "127.0.0.1:%"], "name it http or consumers"),
      (["--datagram", "-l", "127.0.0.1:%"], "no listening TCP socket"),
    ])
    func `a passed socket of no use ends the relay with 64 and is named`(
      options: [String], said: String
    ) throws {
      try withTestDirectory { directory in
        let port = freePort()
        var words = options.map { $0.replacing("%", with: "\(port)") }
        words += passing(directory.file("notify"), in: directory)
        words += [program("host-relay"), "--consumers", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        let activated = try ProcessRun(
          "systemd-socket-activate", words, name: "activated", in: directory)
        try waitUntil("the port", isTrue: { activated.errors.contains(":\(port) as 3") })
        let kind = options.contains("--datagram") ? "udp" : "tcp"
        _ = try ProcessRun.run(
          "bash", ["-c", "echo > /dev/\(kind)/127.0.0.1/\(port)"], in: directory)
        #expect(try activated.waitForEnd() == 64, "\(activated.errors)")
        #expect(activated.errors.contains(said), "\(activated.errors)")
      }
    }

    /// Runs a program as a service of a manager that listens at `socket`.
    private func notifying(
      _ name: String, _ words: [String], to socket: String, in directory: TestDirectory
    ) throws -> ProcessRun {
      try ProcessRun(
        program(name), words, environment: variables(socket, in: directory), in: directory)
    }

    /// The same variables as options of systemd-socket-activate, which passes no others.
    private func passing(_ socket: String, in directory: TestDirectory) -> [String] {
      variables(socket, in: directory).flatMap { ["-E", "\($0.key)=\($0.value)"] }
    }

    /// Of a service manager that wants a sign of life within 2 s.
    private func variables(_ socket: String, in directory: TestDirectory) -> [String: String] {
      [
        "XDG_RUNTIME_DIR": directory.path, "NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "2000000",
      ]
    }
  }
}
