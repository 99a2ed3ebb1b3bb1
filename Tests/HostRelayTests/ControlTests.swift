import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// `host-relay ctl` and `/api/v1/`: what they do, and who may.
@Suite struct ControlTests {
  private func keyframe(on link: ScriptedPeer) throws {
    try link.sendPacket([0, 0, 0, 1, 0x65], pts: MonotonicClock.now(), isKeyframe: true)
  }

  @Test("a pause holds pictures back at once and through an agent's death, until it is resumed")
  func pause() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      var link = try agent.begin()
      try keyframe(on: link)
      try consumer.receiveState(.live)
      #expect(try relay.ctl("pause").output.contains("\"state\":\"paused\""))
      try link.receive("pause") { $0.header.kind == .pause ? () : nil }
      try consumer.receiveState(.paused)
      try keyframe(on: link)
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      try consumer.receiveState(.interrupted)
      link = try agent.begin(instance: 2)
      try link.receive("pause of the next agent") { $0.header.kind == .pause ? () : nil }
      try keyframe(on: link)
      try link.send(.paused(.control))
      try consumer.receiveState(.paused)
      #expect(try relay.ctl("resume").exitCode == 0)
      try link.receive("resume") { $0.header.kind == .resume ? () : nil }
      try link.send(.resumed)
      // Packets that were held back would come before this state.
      _ = try consumer.receive("live") { raw -> Bool? in
        #expect(raw.header.kind != .packet)
        guard case .sessionState(.live, _, _, _) = try? Message(raw) else { return nil }
        return true
      }
      try link.sendPacket([0, 0, 0, 1, 0x41], pts: MonotonicClock.now(), isKeyframe: false)
      try keyframe(on: link)
      #expect(try consumer.receivePacket().flags.contains(.keyframe))
    }
  }

  @Test("while paused or interrupted programs read the state, and players a keyframe, each second")
  func keptAlive() throws {
    try withRelay { relay, agent, directory in
      let video = try SampleVideo(in: directory)
      let link = try agent.begin()
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try link.sendPacket(video.accessUnits[0].bytes, pts: MonotonicClock.now(), isKeyframe: true)
      try consumer.receiveState(.live)
      _ = try relay.ctl("pause")
      let player = try ProcessRun(
        "ffmpeg",
        [
          "-v", "error", "-flags", "low_delay", "-probesize", "65536", "-analyzeduration", "1",
          "-i", "http://\(relay.http)/live.ts", "-fps_mode", "passthrough", "-f",
          "framemd5", "-flush_packets", "1", "-",
        ], name: "player", in: directory)
      defer { player.end() }
      let begin = ContinuousClock.now
      for _ in 0..<3 { try consumer.receiveState(.paused) }
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      for _ in 0..<3 { try consumer.receiveState(.interrupted) }
      #expect(ContinuousClock.now - begin >= .seconds(3))
      // A packet's line begins with its stream; each keyframe is followed by its repetition.
      try waitUntil("pictures with new times") {
        let lines = player.output.split(separator: "\n").filter { $0.hasPrefix("0,") }
        let times = lines.compactMap { Int($0.split(separator: ",")[1].filter(\.isNumber)) }
        #expect(times == times.sorted())
        return Set(times).count >= 6
      }
      // Who comes now sees the last picture too.
      let late = try ScriptedPeer.consumer(of: relay.consumers)
      #expect(try late.receivePacket().flags.contains(.keyframe))
      #expect(player.exitCode == nil)
    }
  }

  @Test("finish tells everybody why, and the relay waits for another agent under a new session")
  func finish() throws {
    try withRelay { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      let link = try agent.begin()
      try keyframe(on: link)
      try consumer.receiveState(.live)
      #expect(try relay.ctl("finish", "the talk", "is over").exitCode == 0)
      let reason = try link.receive("finish") { raw -> String? in
        guard case .finish(let reason) = try? Message(raw) else { return nil }
        return reason
      }
      #expect(reason == "the talk is over")
      try consumer.receive("finished") { raw in
        try? Message(raw) == .finished(.finished, "the talk is over") ? () : nil
      }
      // What the agent says of it is late, and ends nothing a second time.
      try link.send(.finished(.finished, "the talk is over"))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      let next = try agent.begin(instance: 2)
      try keyframe(on: next)
      _ = try consumer.receive("live again") { raw -> Bool? in
        #expect(raw.header.kind != .finished)
        guard case .sessionState(.live, _, _, _) = try? Message(raw) else { return nil }
        return true
      }
    }
  }

  @Test("keyframes and bitrates reach the agent, a bitrate the next one too")
  func orders() throws {
    try withRelay { relay, agent, _ in
      #expect(try relay.ctl("keyframe").exitCode == 75, "there is no agent")
      let link = try agent.begin()
      try waitUntil("the agent") {
        try relay.get("/api/v1/status").contains("\"source\":\"script\"")
      }
      #expect(try relay.ctl("keyframe").exitCode == 0)
      try link.receive("keyframe request") { $0.header.kind == .keyframeRequest ? () : nil }
      #expect(try relay.ctl("bitrate", "2.5M").exitCode == 0)
      func rate(_ link: ScriptedPeer) throws -> UInt32 {
        try link.receive("bitrate") { raw in
          guard case .bitrate(_, let rate) = try? Message(raw) else { return nil }
          return rate
        }
      }
      #expect(try rate(link) == 2_500_000)
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      #expect(try rate(agent.begin(instance: 2)) == 2_500_000)
      let limits = RelayLimits.bitrates
      for (rate, isFine) in [
        (limits.lowerBound - 1, false), (limits.lowerBound, true), (limits.upperBound, true),
        (limits.upperBound + 1, false),
      ] { #expect((try relay.ctl("bitrate", "\(rate)").exitCode == 0) == isFine, "\(rate)") }
    }
  }

  @Test("status is the same by ctl and by HTTP; what is no command is one line and exit code 64")
  func commands() throws {
    try withRelay { relay, _, _ in
      let status = try relay.ctl("status")
      let json = try JSONSerialization.jsonObject(with: Data(status.output.utf8))
      #expect((json as? [String: Any])?["state"] as? String == "waiting")
      for words in [[], ["nothing"], ["bitrate"], ["bitrate", "fast"], ["pause", "now"]] {
        let run = try relay.ctl(words)
        #expect(run.exitCode == 64)
        #expect(run.errors.split(separator: "\n").count == 1)
      }
      let help = try relay.ctl("--help").output
      for command in ControlClient.table.commands {
        #expect(help.contains("\n  \(command.usage)  "), "\(command.usage)")
        // Each is taken as it stands there, done or not.
        let words = command.usage.split(separator: " ").map { word in
          [
            "[REASON]": "over", "N": "6M", "app|mic": "mic", "on|off": "on", "NAME=VALUE": "fps=20",
          ][
            String(word)] ?? String(word)
        }
        let run = try relay.ctl(words.filter { $0 != "..." })
        #expect([0, 75].contains(run.exitCode), "\(words): \(run.errors)")
      }
      relay.process.end()
      #expect(try relay.ctl("status").exitCode == 69)
    }
  }

  @Test("only POST changes anything, and no other site's page can send one")
  func posts() throws {
    try withRelay { relay, _, _ in
      let ours = ["-H", "Origin: http://\(relay.http)"]
      let large = String(repeating: " ", count: RelayLimits.requestBody + 1)
      let cases: [([String], String, String)] = [
        ([], "pause", "405"), (["-I"], "pause", "405"), (["-X", "PUT"], "pause", "405"),
        (["-X", "POST"] + ours, "pause", "200"), (["-d", ""], "pause", "200"),
        (["-d", "{}"], "resume", "200"), (["-d", "[]"], "resume", "400"),
        (["-d", "{\"reason\":1}"], "finish", "400"), (["-d", "{}"], "bitrate", "400"),
        (["-d", "{}", "-H", "Origin: http://evil.example"], "pause", "403"),
        (["-d", "{}", "-H", "Origin: null"], "pause", "403"),
        (["-d", "{}", "-H", "Sec-Fetch-Site: cross-site"], "pause", "403"),
        (["-d", "{}", "-H", "Host: evil.example"], "pause", "403"),
        (["-d", "{}"], "status", "405"), (["-d", large], "pause", "413"),
        (["-d", "{}"], "nothing", "404"), ([], "nothing", "404"),
        (["-d", "{}", "-H", "Content-Length: +2"], "pause", "400"),
        (
          ["-d", "{}", "-H", "Expect: 100-continue", "--expect100-timeout", "60", "-m", "20"],
          "resume", "200"
        ),
        (["-d", "{}", "-H", "Expect: nothing"], "resume", "200"),
        (["-d", "{}", "-H", "Transfer-Encoding: chunked"], "pause", "411"),
        (["-d", "{}", "-H", "Content-Length: 99999999999999999999"], "pause", "400"),
        (["-d", "{}", "-H", "Content-Length: -2"], "pause", "400"),
      ]
      for (options, path, status) in cases {
        let answer = try relay.get("/api/v1/\(path)", ["-m", "5"] + options)
        #expect(answer.hasSuffix("\n\(status)"), "\(options) \(path): \(answer)")
      }
    }
  }

  @Test("another user controls with the control key only, which the viewer key never is")
  func otherUser() throws {
    try #require(getuid() == 0, "only root can be somebody else")
    try withRelay(["--control-key", "control-0123"]) { relay, _, directory in
      func post(_ options: [String], _ path: String) throws -> String {
        try ProcessRun.run(
          "setpriv",
          [
            "--reuid", "65534", "--clear-groups", "curl", "-s", "-w", "\n%{http_code}", "-d", "{}",
            "http://\(relay.http)\(path)",
          ] + options, in: directory
        ).output
      }
      let viewer = "?key=\(relay.viewerKey)"
      #expect(try post([], "/api/v1/pause").hasSuffix("403"))
      #expect(try post([], "/api/v1/pause\(viewer)").hasSuffix("403"))
      #expect(try post([], "/api/v1/pause?key=control-0123").hasSuffix("403"))
      let asViewer = ["-H", "Authorization: Bearer \(relay.viewerKey)"]
      #expect(try post(asViewer, "/api/v1/pause").hasSuffix("403"))
      let asController = ["-H", "Authorization: Bearer control-0123"]
      #expect(try post(asController, "/api/v1/pause").hasSuffix("200"))
      let made = try readFile(directory.file("porthole/viewer-key"))
      #expect(made.count == 32)
    }
  }

  @Test("a control key is made at the first start, for its user's eyes only")
  func keyFile() throws {
    try withRelay { _, _, directory in
      var found = stat()
      #expect(stat(directory.file("porthole/control-key"), &found) == 0)
      #expect(found.st_mode & 0o777 == 0o600)
    }
  }
}

/// Pauses by the signals of the relay, and those that an agent begins by itself.
@Suite struct PauseControlTests {
  private func pause(on link: ScriptedPeer) throws -> PauseReasons {
    try link.receive("pause") { raw in
      guard case .pause(let reasons) = try? Message(raw) else { return nil }
      return reasons
    }
  }

  @Test("SIGUSR1 and SIGUSR2 pause and resume the relay")
  func signals() throws {
    try withLiveLink { relay, _, link, consumer in
      kill(relay.process.pid, SIGUSR1)
      #expect(try pause(on: link) == .control)
      try consumer.receiveState(.paused)
      kill(relay.process.pid, SIGUSR2)
      try link.receive("resume") { $0.header.kind == .resume ? () : nil }
      try consumer.receiveState(.live)
    }
  }

  @Test("the pause of an agent that dies is the next one's, and a resume in between ends it")
  func handedOver() throws {
    try withLiveLink { relay, agent, first, consumer in
      try first.send(.paused(.person))
      #expect(try consumer.receiveState(.paused) == "by the person at the screen")
      shutdown(first.socket.raw, Int32(SHUT_RDWR))
      let second = try agent.begin(instance: 2)
      #expect(try pause(on: second) == .person)
      shutdown(second.socket.raw, Int32(SHUT_RDWR))
      try waitUntil("no agent") {
        try relay.get("/api/v1/status").contains("\"connected\":false") ? () : nil
      }
      #expect(try relay.ctl("resume").exitCode == 0)
      let third = try agent.begin(instance: 3)
      try third.sendPacket([0, 0, 0, 1, 0x65], pts: MonotonicClock.now(), isKeyframe: true)
      try consumer.receiveState(.live)
    }
  }

  @Test("an agent that comes back paused reads of the resume that it missed")
  func owed() throws {
    try withLiveLink { relay, agent, first, consumer in
      try first.send(.paused(.signal))
      #expect(try consumer.receiveState(.paused) == "by a signal")
      shutdown(first.socket.raw, Int32(SHUT_RDWR))
      try consumer.receiveState(.interrupted)
      #expect(try relay.ctl("resume").exitCode == 0)
      var again = try agent.begin()
      try again.send(.paused(.signal))
      try again.receive("resume") { $0.header.kind == .resume ? () : nil }
      // It is gone once more before it has answered.
      shutdown(again.socket.raw, Int32(SHUT_RDWR))
      again = try agent.begin()
      try again.send(.paused(.signal))
      try again.receive("resume, again") { $0.header.kind == .resume ? () : nil }
    }
  }
}
