import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// `scripts/broadcast`, as a user calls it.
  @Suite struct Script {
    @Test func `one command broadcasts a headless desktop and leaves nothing behind`() throws {
      try withTestDirectory { directory in
        let broadcast = try script(["--desktop", "headless", "--for", "3"], in: directory)
        let address = try waitUntil("viewer address", within: .seconds(20)) {
          try broadcast.check().output.split(separator: "\n").first { $0.hasPrefix("player: ") }
        }
        let player = try Player(
          String(address.dropFirst("player: ".count)), seconds: 1, in: directory)
        #expect(try player.waitForEnd(within: .seconds(8)) == 0)
        #expect(player.counters.count >= 20)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        // It said that the user had ended it.
        #expect(broadcast.errors.contains("finished: its time is over"))
        #expect(try processes(mentioning: directory.path) == [])
      }
    }

    // The end of the first took the desktop from the second.
    @Test func `a relay that dies is started again, and Ctrl-C ends all but another's desktop`()
      throws
    {
      try withTestDirectory { directory in
        let http = freePort()
        let broadcast = try script(
          ["--desktop", "headless", "--source", "pattern"], http: http, in: directory)
        let relay = try waitUntil("relay") {
          try broadcast.check()
          return try relays(at: http).first
        }
        // It ended one that was being loaded.
        kill(relay.pid, SIGUSR2)
        try waitUntil("viewer address") { broadcast.output.contains("player: ") }
        kill(relay.pid, SIGKILL)
        try waitUntil("next relay") {
          try relays(at: http).contains { $0 != relay }
        }
        let other = try script(
          ["--desktop", "headless", "--source", "pattern"], name: "other", in: directory)
        try waitUntil("the other's viewer address") {
          try other.check().output.contains("player: ")
        }
        // One that was killed, and left word that it uses the desktop.
        try Data("1\n".utf8).write(to: URL(filePath: directory.file("desktop/users/4999999")))
        broadcast.signal(SIGINT)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        // The shell had a line of its own for it.
        #expect(!broadcast.errors.contains("Killed"), "\(broadcast.errors)")
        #expect(broadcast.errors.matches(of: /relay died/).count == 1, "\(broadcast.errors)")
        let status = try ProcessRun.run(
          packageRoot + "/scripts/headless-desktop", ["status", directory.file("desktop")],
          in: directory)
        #expect(status.exitCode == 0, "\(status.output)")
        try other.check().signal(SIGINT)
        #expect(try other.waitForEnd(within: .seconds(15)) == 0)
        #expect(try processes(mentioning: directory.path) == [])
        #expect(try processes(mentioning: "127.0.0.1:\(http)") == [])
      }
    }

    @Test func `with --setup the address is there at once, and nothing is captured before a start`()
      throws
    {
      try withTestDirectory { directory in
        let http = freePort()
        let broadcast = try script(
          ["--desktop", "session", "--source", "pattern", "--setup"], http: http, in: directory)
        try waitUntil("viewer address") {
          try broadcast.check()
          return broadcast.output.contains("player: ") ? () : nil
        }
        #expect(!broadcast.errors.contains("started agent"))
        let ctl = try ProcessRun.run(
          program("host-relay"), ["ctl", "start", "--http", "127.0.0.1:\(http)"], name: "ctl",
          environment: RelayRun.environment(of: directory), in: directory)
        #expect(ctl.exitCode == 0, "\(ctl.errors)\(ctl.output)")
        try waitUntil("a picture", isTrue: { broadcast.errors.contains(": live") })
        #expect(broadcast.output.split(separator: "\n").count { $0.hasPrefix("player: ") } == 1)
        broadcast.signal(SIGINT)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        #expect(try processes(mentioning: "127.0.0.1:\(http)") == [])
      }
    }

    // Such an agent waited for a relay for as long as it holds, and nobody was left to end it.
    @Test func `an agent whose relay dies before it can be asked is ended with the script`() throws
    {
      try withTestDirectory { directory in
        // The script asks the relay by curl.
        let curl = directory.file("curl")
        try Data("#!/bin/sh\nexit 7\n".utf8).write(to: URL(filePath: curl))
        chmod(curl, 0o700)
        let http = freePort()
        let broadcast = try script(
          ["--desktop", "session", "--source", "pattern"], http: http,
          path: "\(directory.path):/usr/bin:/bin", in: directory)
        let agent = try waitUntil("agent") { () -> pid_t? in
          try broadcast.check()
          let lines = broadcast.errors.split(separator: "\n")
          guard lines.contains(where: { $0.contains(": listening on ") }) else { return nil }
          let line = lines.first { $0.contains(": started agent ") }
          return line?.split(separator: " ").last.flatMap { pid_t($0) }
        }
        let relay = try #require(try relays(at: http).first)
        // So that it does not start another one in between.
        broadcast.signal(SIGSTOP)
        kill(relay.pid, SIGKILL)
        broadcast.signal(SIGTERM)
        broadcast.signal(SIGCONT)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        let agents = try processes(mentioning: program("capture-agent"))
        #expect(!agents.contains { $0.pid == agent })
      }
    }

    // What was wrong for the relay was found once a desktop had been started.
    @Test(arguments: [
      (["--nonsense"], "--nonsense"), (["--fps", "0"], "--fps 0"),
      (["--setup=maybe"], "--setup takes yes or no"), (["--hold", "soon"], "--hold soon"),
      (["--tls-certificate", "/dev/null", "--tls-key", "/dev/null"], "/dev/null"),
    ])
    func `an option that is wrong ends it with 64 before anything starts`(
      words: [String], said: String
    ) throws {
      try withTestDirectory { directory in
        let run = try script(["--desktop", "headless"] + words, in: directory)
        #expect(try run.waitForEnd() == 64)
        #expect(run.errors.split(separator: "\n").count { $0.contains(said) } == 1, "\(run.errors)")
        #expect(run.output == "")
        #expect(access(directory.file("desktop"), F_OK) != 0, "a desktop was started")
      }
    }

    // The agent said it, the relay twice, the script once more, and then the next agent.
    @Test(arguments: [
      (["--source", "node:nothing"], "PipeWire"),
      (["--source", "pattern", "--va-display", "drm:/dev/dri/missing"], "--va-display can be: "),
    ])
    func `what is missing is said once, and ends it with 69`(words: [String], said: String) throws {
      try withTestDirectory { directory in
        let run = try script(["--desktop", "session"] + words, in: directory)
        #expect(try run.waitForEnd(within: .seconds(15)) == 69)
        let lines = run.errors.split(separator: "\n").filter { $0.contains(said) }
        #expect(lines.count == 1, "\(run.errors)")
      }
    }

    // On a terminal there is a status line, which once ended the script before the first picture.
    @Test func `on a terminal a status line says how it goes, and nothing is doubled`() throws {
      try withTestDirectory { directory in
        let words =
          [scriptPath] + ["--desktop", "headless", "--for", "3", "--source", "pattern"]
          + ports()
        let run = try ProcessRun(
          "script", ["-qec", words.joined(separator: " "), "/dev/null"], name: "terminal",
          environment: environment(in: directory), in: directory)
        #expect(try run.waitForEnd(within: .seconds(30)) == 0)
        #expect(run.output.contains("player: "))
        #expect(run.output.contains("live  "))
        #expect(!run.output.contains("syntax error"))
        #expect(!run.output.contains("  packets"))
      }
    }

    @Test func `a question to the agent is answered without a broadcast`() throws {
      try withTestDirectory { directory in
        let run = try script(["--explain-memory", "--va-display", "none"], in: directory)
        #expect(try run.waitForEnd() == 0)
        #expect(run.output.contains("planned: "))
        let list = try script(["--list-sources"], in: directory)
        #expect(try list.waitForEnd() == 69)
        #expect(list.errors.contains("PipeWire cannot be reached"))
      }
    }

    /// With programs that are built already, on ports and a desktop of its own.
    private func script(
      _ options: [String], http: UInt16 = freePort(), path: String? = nil,
      name: String = "broadcast", in directory: TestDirectory
    ) throws -> ProcessRun {
      var variables = environment(in: directory)
      if let path { variables["PATH"] = path }
      return try ProcessRun(
        scriptPath, options + ports(http: http), name: name, environment: variables,
        in: directory)
    }

    /// Those that start agents: the options are read by another one first.
    private func relays(at http: UInt16) throws -> [RunningProcess] {
      let parents = try processes(mentioning: "/capture-agent ")
      return try processes(mentioning: "127.0.0.1:\(http)").filter {
        $0.name == "host-relay" && parents.contains($0)
      }
    }

    private var scriptPath: String { packageRoot + "/scripts/broadcast" }

    private func ports(http: UInt16 = freePort()) -> [String] {
      [
        "--listen", "127.0.0.1:\(freePort())", "--consumers", "127.0.0.1:\(freePort())",
        "--http", "127.0.0.1:\(http)",
      ]
    }

    private func environment(in directory: TestDirectory) -> [String: String] {
      ["PORTHOLE_BIN": program(""), "PORTHOLE_DESKTOP": directory.file("desktop")]
    }
  }
}

struct RunningProcess: Equatable {
  let pid: pid_t
  let name: String
}

/// The processes whose command line has `text` in it; zombies have none.
func processes(mentioning text: String) throws -> [RunningProcess] {
  let folders = try FileManager.default.contentsOfDirectory(atPath: "/proc")
  return folders.compactMap { folder in
    guard let pid = pid_t(folder), pid != getpid(),
      let bytes = try? readFile("/proc/\(folder)/cmdline")
    else { return nil }
    let words = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    guard words.contains(where: { $0.contains(text) }) else { return nil }
    return RunningProcess(
      pid: pid, name: words[0].split(separator: "/").last.map(String.init) ?? "")
  }
}

extension ProcessRun {
  /// Itself while it runs; throws with what it said once it has ended.
  @discardableResult
  func check() throws -> ProcessRun {
    if let exitCode { throw ProcessFailure(description: "ended with \(exitCode): \(errors)") }
    return self
  }
}
