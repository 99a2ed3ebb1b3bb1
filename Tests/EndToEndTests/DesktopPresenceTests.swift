import CaptureSupport
import Foundation
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// What a live broadcast does at the desktop, and what the person there does to it.
  @Suite struct DesktopPresences {
    @Test func `the machine stays awake while it is live, and only then`() throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let words = ["--source", "pattern", "--size", "320x240"]
        let broadcast = try Broadcast(in: directory, scripted: desk, agent: words)
        func calls() -> [String] {
          desk.calls.filter { $0.hasPrefix("Inhibit") }.map {
            $0.hasPrefix("Inhibit 12") ? "on" : "off"
          }
        }
        try waitUntil("inhibition") { calls() == ["on"] ? () : nil }
        try broadcast.control("pause")
        try waitUntil("the pause's end of it") { calls() == ["on", "off"] ? () : nil }
        try broadcast.control("resume")
        try waitUntil("inhibition again") { calls() == ["on", "off", "on"] ? () : nil }
        broadcast.end()
        try waitUntil("the end's end of it") { calls().count == 4 ? () : nil }

        let other = try Broadcast(in: directory, scripted: desk, agent: words + ["--no-inhibit"])
        try other.waitUntilLive()
        try other.control("pause")
        try other.control("resume")
        #expect(calls().count == 4)
      }
    }

    @Test(arguments: [
      ("org.gnome.ScreenSaver", "lock", "unlock"),
      ("org.freedesktop.ScreenSaver", "lock", "unlock"),
      ("org.freedesktop.login1", "lock", "unlock"),
      ("org.freedesktop.login1", "hint yes", "hint no"),
    ])
    func `a locked session pauses with its reason, and goes on when it is unlocked`(
      _ name: String, _ lock: String, _ unlock: String
    ) throws {
      try withTestDirectory { directory in
        let desktop = try DeskServices([name], in: directory)
        // It is locked before it begins.
        try desktop.act(lock)
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240", "--pause-on-lock"])
        let viewer = try waitUntil("the relay") {
          try? ScriptedPeer.consumer(of: broadcast.consumers)
        }
        let words = try viewer.receive("pause without a picture before it") { raw -> String? in
          #expect(raw.header.kind != .packet)
          guard case .sessionState(.paused, _, _, let text) = try? Message(raw) else { return nil }
          return text
        }
        #expect(words == "the session is locked")
        try desktop.act(unlock)
        #expect(try viewer.receivePacket().flags.contains(.keyframe))
        try desktop.act(lock)
        #expect(try viewer.receiveState(.paused) == "the session is locked")
        try desktop.act(unlock)
        try viewer.receiveState(.live)
        #expect(try viewer.receivePacket().flags.contains(.keyframe))
      }
    }

    // It was called locked until all had answered.
    @Test
    func
      `what is not known to be locked is not called so, and is shown once it is known not to be`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.gnome.ScreenSaver"], in: directory)
        desktop.signal(SIGSTOP)
        defer { desktop.signal(SIGCONT) }
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240", "--pause-on-lock"])
        try waitUntil(
          "an agent", within: .seconds(5), isTrue: { broadcast.status?.state == "starting" })
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        let end = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < end {
          let raw = try #require(try viewer.receive(within: .seconds(3)))
          #expect(raw.header.kind != .packet && raw.header.kind != .paused)
        }
        #expect(broadcast.status?.state == "starting")
        desktop.signal(SIGCONT)
        #expect(try viewer.receivePacket().flags.contains(.keyframe))
        #expect(!broadcast.relay.errors.contains("locked"), "\(broadcast.relay.errors)")
      }
      // Where nothing tells, nothing is known.
      try withTestDirectory { directory in
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "320x240", "--pause-on-lock"])
        try broadcast.waitUntilLive()
        #expect(!broadcast.relay.errors.contains("locked"), "\(broadcast.relay.errors)")
      }
    }

    @Test func `a computer that falls asleep says so first, and goes on when it is awake`() throws {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.freedesktop.login1"], in: directory)
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240"])
        try broadcast.waitUntilLive()
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        _ = try viewer.receivePacket()
        try desktop.act("sleep")
        #expect(try viewer.receiveState(.paused) == "the computer is asleep")
        try desktop.act("wake")
        try viewer.receiveState(.live)
        #expect(try viewer.receivePacket().flags.contains(.keyframe))
      }
    }

    // The relay hands the next agent the reasons of the last one, and nobody was left to end this one.
    @Test func `a session that is unlocked while there is no agent is shown by the next one`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.freedesktop.login1"], in: directory)
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240", "--pause-on-lock"])
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        _ = try viewer.receivePacket()
        try desktop.act("lock")
        try viewer.receiveState(.paused)
        kill(agent, SIGSTOP)
        try desktop.act("unlock")
        kill(agent, SIGKILL)
        try viewer.receiveState(.live)
      }
    }

    @Test func `the person at the screen sees the viewers, pauses, resumes and stops`() throws {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.freedesktop.Notifications"], in: directory)
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240", "--name", "Room-5"])
        try waitForNotice(desktop, "On the air: Room-5 | Nobody watches. | pause Pause stop Stop")
        #expect(
          desktop.calls.contains { $0.contains("Notify 1 replaces 0") && $0.contains("urgency 0") })
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        try waitForNotice(desktop, "1 viewer. | pause Pause stop Stop")
        try desktop.act("press pause")
        #expect(try viewer.receiveState(.paused) == "by the person at the screen")
        try waitForNotice(
          desktop, "Paused: by the person at the screen. 1 viewer. | resume Resume stop Stop")
        try desktop.act("press resume")
        try viewer.receiveState(.live)
        try waitForNotice(desktop, "1 viewer. | pause Pause stop Stop")
        // One notice, changed in place.
        #expect(
          desktop.calls.filter { $0.hasPrefix("Notify") }.allSatisfy { $0.hasPrefix("Notify 1 ") })
        try desktop.act("press stop")
        #expect(try viewer.receiveState(.finished) == "ended by the person at the screen")
        #expect(try broadcast.relay.waitForEnd() == 0)
        #expect(desktop.calls.last == "CloseNotification 1")
        #expect(try notices(in: directory) == [])
      }
    }

    @Test
    func
      `a notice outlives a killed agent in the next one's hands, and one that was put away stays away`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.freedesktop.Notifications"], in: directory)
        let broadcast = try Broadcast(
          in: directory, services: desktop, agent: ["--size", "320x240"])
        try waitForNotice(desktop, "Nobody watches.")
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        try waitUntil("its record") { try notices(in: directory).isEmpty ? nil : () }
        kill(agent, SIGKILL)
        try waitUntil("the next agent's") {
          desktop.calls.contains { $0.hasPrefix("Notify 1 replaces 1") } ? () : nil
        }
        // Another desktop's service counts anew, and is not told of a number that it never gave.
        try desktop.restart()
        try waitUntil("a notice of its own") {
          desktop.calls.contains { $0.hasPrefix("Notify 1 replaces 0") } ? () : nil
        }
        try desktop.act("dismiss")
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        try broadcast.control("pause")
        try viewer.receiveState(.paused)
        #expect(desktop.calls.filter { $0.hasPrefix("Notify") }.count == 1)
      }
    }

    @Test func `an agent that shows no notice takes away what a killed one left`() throws {
      try withTestDirectory { directory in
        let desktop = try DeskServices(["org.freedesktop.Notifications"], in: directory)
        let port = freePort()
        func agent(_ more: String...) throws -> ProcessRun {
          try ProcessRun(
            program("capture-agent"),
            [
              "--listen", "127.0.0.1:\(port)", "--source", "pattern", "--size", "320x240",
              "--va-display", "none",
            ] + more, environment: desktop.environment, in: directory)
        }
        let first = try agent()
        let relay = try ProcessRun(
          program("host-relay"),
          [
            "--agent", "127.0.0.1:\(port)", "--consumers", "127.0.0.1:\(freePort())", "--http",
            "127.0.0.1:\(freePort())",
          ], environment: desktop.environment, in: directory)
        defer { relay.end() }
        try waitUntil("its record") { (try? notices(in: directory)) ?? [] == [] ? nil : () }
        first.signal(SIGKILL)
        try first.waitForEnd()
        let second = try agent("--no-notification")
        defer { second.end() }
        try waitUntil("its end") { desktop.calls.last == "CloseNotification 1" ? () : nil }
        #expect(try notices(in: directory) == [])
      }
    }

    private func waitForNotice(_ desktop: DeskServices, _ words: String) throws {
      try waitUntil("notice: \(words)") {
        desktop.calls.last { $0.hasPrefix("Notify") }?.contains(words) == true ? () : nil
      }
    }

    /// The records of notices.
    private func notices(in directory: TestDirectory) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: directory.file("porthole")).filter {
        $0.hasPrefix("notification")
      }
    }
  }
}
