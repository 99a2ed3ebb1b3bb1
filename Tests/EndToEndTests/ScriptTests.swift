import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// `scripts/broadcast`, as a user calls it.
  @Suite struct Script {
    @Test func `one command broadcasts a headless desktop and leaves nothing behind`() throws {
      try withTestDirectory { directory in
        let broadcast = try script(["--desktop", "headless", "--for", "3"], in: directory)
        let address = try waitUntil("viewer address", within: .seconds(10)) {
          try broadcast.check().output.split(separator: "\n").first { $0.hasPrefix("player: ") }
        }
        let player = try Player(
          String(address.dropFirst("player: ".count)), seconds: 1, in: directory)
        #expect(try player.waitForEnd(within: .seconds(8)) == 0)
        #expect(player.counters.count >= 20)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        #expect(try processes(mentioning: directory.path) == [])
      }
    }

    @Test func `a relay that dies is started again, and Ctrl-C ends it all`() throws {
      try withTestDirectory { directory in
        let http = freePort()
        let broadcast = try script(
          ["--desktop", "headless", "--source", "pattern"], http: http, in: directory)
        let relay = try waitUntil("relay") {
          try broadcast.check()
          return try processes(mentioning: "127.0.0.1:\(http)").first { $0.name == "host-relay" }
        }
        try waitUntil("viewer address") { broadcast.output.contains("player: ") }
        kill(relay.pid, SIGKILL)
        try waitUntil("next relay") {
          try processes(mentioning: "127.0.0.1:\(http)").contains {
            $0.name == "host-relay" && $0.pid != relay.pid
          }
        }
        broadcast.signal(SIGINT)
        #expect(try broadcast.waitForEnd(within: .seconds(15)) == 0)
        #expect(try processes(mentioning: directory.path) == [])
        #expect(try processes(mentioning: "127.0.0.1:\(http)") == [])
      }
    }

    @Test func `an option that neither program has ends it with 64`() throws {
      try withTestDirectory { directory in
        let run = try script(["--nonsense"], in: directory)
        #expect(try run.waitForEnd() == 64)
        #expect(run.errors.contains("--nonsense"))
      }
    }

    /// With programs that are built already, on ports and a desktop of its own.
    private func script(
      _ options: [String], http: UInt16 = freePort(), in directory: TestDirectory
    ) throws -> ProcessRun {
      let ports = [
        "--listen", "127.0.0.1:\(freePort())", "--consumers", "127.0.0.1:\(freePort())",
        "--http", "127.0.0.1:\(http)",
      ]
      return try ProcessRun(
        packageRoot + "/scripts/broadcast", options + ports, name: "broadcast",
        environment: [
          "PORTHOLE_BIN": program(""), "PORTHOLE_DESKTOP": directory.file("desktop"),
        ], in: directory)
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
