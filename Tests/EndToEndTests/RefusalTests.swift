import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// Who gets nothing, not one byte of picture, while the first relay goes on undisturbed.
  @Suite struct Refusals {
    @Test func `a second relay is refused with a reason`() throws {
      try withWatchedBroadcast { broadcast, directory in
        let second = try ProcessRun(
          program("host-relay"),
          ["--agent", "127.0.0.1:\(broadcast.ports.agent)", "--http", "127.0.0.1:\(freePort())"]
            + ["--consumers", "127.0.0.1:\(freePort())"],
          name: "second", environment: broadcast.environment, in: directory)
        try waitUntil("reason") {
          second.errors.contains("relay") && second.errors.contains("link")
        }
        second.end()
      }
    }

    @Test func `a web page gets nothing from the agent's port`() throws {
      try withWatchedBroadcast { broadcast, directory in
        let request = try ProcessRun.run(
          "curl", ["-s", "--max-time", "5", "http://127.0.0.1:\(broadcast.ports.agent)/"],
          name: "page", in: directory)
        #expect(request.exitCode != 0)
        #expect(request.exitCode != 28, "it was cut off, not left to wait")
        #expect(!request.output.contains("\u{0}\u{0}\u{1}"))
      }
    }

    @Test func `a relay with another token is refused`() throws {
      try withWatchedBroadcast { broadcast, directory in
        let stranger = try ProcessRun(
          program("host-relay"),
          ["--agent", "127.0.0.1:\(broadcast.ports.agent)", "--http", "127.0.0.1:\(freePort())"]
            + ["--consumers", "127.0.0.1:\(freePort())"],
          name: "stranger", environment: ["XDG_RUNTIME_DIR": directory.path], in: directory)
        try waitUntil("reason") { stranger.errors.contains("token") }
        stranger.end()
      }
    }

    /// A stranger that writes and is gone is listed without an owner, which looks like root.
    @Test(
      .enabled(if: geteuid() == 0, "only root can become another user"),
      arguments: ["cat <&3", "exit"])
    func `another user gets nothing`(then: String) throws {
      try withWatchedBroadcast { broadcast, directory in
        let script =
          "exec 3<>/dev/tcp/127.0.0.1/\(broadcast.ports.agent); printf PORTHOLE >&3; \(then)"
        let stranger = try ProcessRun.run(
          "setpriv", ["--reuid=65534", "--clear-groups", "bash", "-c", script], name: "stranger",
          in: directory)
        // A refusal and its text, at most.
        #expect(try readFile(stranger.outputPath).count < 512)
        #expect(broadcast.relay.errors.contains("another user"))
      }
    }

    /// Runs `body` beside a player, which goes on to see new pictures.
    private func withWatchedBroadcast(_ body: (Broadcast, TestDirectory) throws -> Void) throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let player = try Player(broadcast.liveTS, in: directory)
        try player.waitForCounter(past: 0, within: .seconds(5))
        try body(broadcast, directory)
        let last = try #require(player.counters.last ?? nil)
        try player.waitForCounter(past: last + 15, within: .seconds(2))
        #expect(broadcast.agentPID == agent)
        #expect(broadcast.status?.state == "live")
      }
    }
  }
}
