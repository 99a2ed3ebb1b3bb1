import CaptureSupport
import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// How a permission is given, kept, refused and taken back: the real portal, with a user of the test's.
  @Suite struct PortalEndings {
    /// What a user or a desktop may do with the question, and what everybody reads then.
    struct Ending: Sendable, CustomTestStringConvertible {
      let answer: String
      let code: FinishCode
      let exitCode: Int32
      let words: String
      var testDescription: String { answer }
    }

    // BL-24
    @Test(arguments: [
      Ending(
        answer: "cancel", code: .refused, exitCode: 77,
        words: "the user declined to share the screen"),
      Ending(
        answer: "other", code: .refused, exitCode: 77,
        words: "the desktop refused to share the screen"),
      // xdg-desktop-portal 1.16 makes the same of it.
      Ending(
        answer: "blank", code: .refused, exitCode: 77,
        words: "the desktop refused to share the screen"),
    ])
    func `a no ends the broadcast with its own words, for viewers and by the exit code`(
      _ ending: Ending
    ) throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        try desk.answer("answer \(ending.answer)", "after 1")
        let broadcast = try Broadcast(in: directory, scripted: desk)
        let viewer = try viewer(of: broadcast)
        let text = try viewer.receiveState(.finished)
        #expect(text.hasPrefix("\(ending.code.word): \(ending.words)"), "\(text)")
        #expect(try broadcast.relay.waitForEnd() == ending.exitCode)
        #expect(desk.starts.count == 1)
      }
    }

    @Test func `an answer without a stream is no picture: it is told, and asked again`() throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let screen = try desk.screen("red")
        try desk.answer("answer none", "node red")
        let broadcast = try Broadcast(in: directory, scripted: desk)
        try waitForText("the ScreenCast portal gave no stream", of: broadcast)
        try waitForDeath("(exit 69)", of: broadcast)
        try desk.answer("answer accept", "node red")
        try broadcast.waitUntilLive()
        screen.end()
      }
    }

    // BL-24
    @Test func `a user who takes the permission back while live ends it, and is not asked again`()
      throws
    {
      // Who thinks for a while keeps the broadcast waiting, and no longer.
      try withAllowedScreen("after 2") { desk, screen, broadcast, viewer in
        let seconds = isLongRun ? 5 : 1
        let begin = try viewer.receivePacket().pts
        try viewer.receive("\(seconds) s of pictures") {
          $0.header.kind == .packet && $0.header.pts - begin > Int64(seconds) * 1_000_000_000
            ? () : nil
        }
        desk.revoke()
        let text = try viewer.receiveState(.finished)
        #expect(text == "revoked: the screen's permission was taken back")
        #expect(try broadcast.relay.waitForEnd() == 0)
        #expect(desk.starts == ["Start accept asked"])
        screen.end()
      }
    }

    // BL-24. It may be a window that was closed, or a compositor that comes back: the portal decides.
    @Test func `a screen that vanishes without a word is told of, and goes on only by the portal`()
      throws
    {
      try withAllowedScreen { desk, screen, broadcast, viewer in
        try desk.answer("answer cancel", "after 1")
        screen.end()
        let words = "the screen's PipeWire node is gone"
        #expect(try viewer.receiveState(.interrupted) == "source-ended: \(words)")
        let text = try viewer.receiveState(.finished)
        #expect(text.contains("the user declined"), "\(text)")
        #expect(desk.starts == ["Start accept asked", "Start cancel restored"])
        #expect(try broadcast.relay.waitForEnd() == 77)
      }
    }

    // xdg-desktop-portal-wlr ends the node of a monitor that is switched off, and cannot begin another one
    // before it is on again.
    @Test
    func `BL-28: a monitor that is off where no desktop tells of it is told of, and waited for`()
      throws
    {
      try withAllowedScreen { desk, screen, broadcast, viewer in
        let session = broadcast.status?.json["session"] as? String
        try desk.answer("answer other")
        screen.end()
        #expect(
          try viewer.receiveState(.interrupted)
            == "source-ended: the screen's PipeWire node is gone")
        try waitForText("the desktop cannot show the screen that was allowed before", of: broadcast)
        let again = try desk.screen("red")
        try desk.answer("answer accept", "node red")
        try viewer.receiveState(.live)
        #expect(broadcast.status?.json["session"] as? String == session)
        // The portal's frontend takes a permission as used up by a start that failed.
        #expect(desk.starts.suffix(2) == ["Start other restored", "Start accept asked"])
        again.end()
      }
    }

    @Test
    func `--source portal:KIND limits what the question offers, and has a permission of its own`()
      throws
    {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let other = try desk.screen("green")
        let ports = Broadcast.Ports()
        // An agent that listens elsewhere shows something else, which is asked for.
        for (number, (kind, types, how, ports)) in [
          ("portal", 3, "asked", ports), ("portal:window", 2, "asked", ports),
          ("portal:monitor", 1, "asked", ports), ("portal:window", 2, "restored", ports),
          ("portal", 3, "asked", Broadcast.Ports()),
        ].enumerated() {
          let screen = try desk.screen("red\(number)")
          try desk.answer("answer accept", "node red\(number)", "second green")
          let broadcast = try Broadcast(
            in: directory, scripted: desk, agent: ["--source", kind], ports: ports)
          try broadcast.waitUntilLive()
          let question = desk.calls.last { $0.hasPrefix("SelectSources") }
          #expect(question?.contains("types \(types) ") == true, "\(question ?? "")")
          #expect(desk.starts.last == "Start accept \(how)")
          #expect(
            broadcast.relay.errors.contains("gave several streams: the first is broadcast"))
          broadcast.end()
          screen.end()
        }
        let wrong = try Broadcast(
          in: directory, scripted: desk, agent: ["--source", "portal:virtual"])
        try waitForText(
          "the desktop's portal has no virtual monitors to share, only monitors, windows", of: wrong
        )
        try waitForDeath("(exit 69)", of: wrong)
        wrong.end()
        other.end()
      }
    }

    @Test func `a backend that dies while it is asked is missing, and no refusal`() throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        try desk.answer("answer silence")
        let broadcast = try Broadcast(in: directory, scripted: desk)
        try waitUntil("the question") { desk.starts.isEmpty ? nil : () }
        desk.backend.signal(SIGKILL)
        try waitForText("portal backend", of: broadcast)
        try waitForDeath("(exit 69)", of: broadcast)
      }
    }

    @Test func `a portal that dies under a running broadcast costs no picture`() throws {
      try withAllowedScreen { desk, screen, broadcast, viewer in
        desk.portal.signal(SIGKILL)
        try desk.portal.waitForEnd()
        let pts = try viewer.receivePacket().pts
        try viewer.receive("a second of pictures") {
          $0.header.kind == .packet && $0.header.pts - pts > 1_000_000_000 ? () : nil
        }
        #expect(broadcast.status?.json["deaths"] as? Int == 0)
        screen.end()
      }
    }

    // BL-26. By itself it takes two minutes.
    @Test(.enabled(if: isLongRun, "the user's patience is two minutes"))
    func `a question that nobody answers ends in bounded time`() throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        try desk.answer("answer silence")
        let broadcast = try Broadcast(in: directory, scripted: desk)
        let viewer = try viewer(of: broadcast)
        let text = try viewer.receiveState(.finished, within: .seconds(130))
        #expect(text.contains("nobody answered the desktop's question"), "\(text)")
        #expect(try broadcast.relay.waitForEnd() == 77)
      }
    }

    // BL-26. A portal may take each token once (rustdesk/rustdesk#9435).
    @Test func `the permission of each start is kept for the next one, for its owner alone`() throws
    {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let ports = Broadcast.Ports()
        let file =
          (desk.environment["XDG_STATE_HOME"] ?? "") + "/porthole/restore-token-\(ports.agent)"
        var kept: ino_t = 0
        var screens = 0
        /// One of its own for each start.
        func screen(_ more: String...) throws -> ProcessRun {
          screens += 1
          try desk.answer(["answer accept", "node red\(screens)"] + more)
          return try desk.screen("red\(screens)")
        }
        func start(_ how: String, _ agent: String...) throws {
          let screen = try screen()
          let broadcast = try Broadcast(
            in: directory, scripted: desk, agent: agent, ports: ports)
          try broadcast.waitUntilLive()
          broadcast.end()
          screen.end()
          #expect(desk.starts.last == "Start accept \(how)")
          var entry = stat()
          #expect(stat(file, &entry) == 0 && entry.st_mode & 0o777 == 0o600)
          // Another file each time: written whole, then put in the old one's place.
          #expect(entry.st_ino != kept || !agent.isEmpty)
          kept = entry.st_ino
        }
        try start("asked")
        try start("restored")
        let token = try readFile(file)
        try start("asked", "--ask")
        #expect(try readFile(file) != token)
        // One of a permission that the desktop has forgotten: the user is asked, and answers.
        try write("0d1c2b3a-0000-4000-8000-000000000000\n", to: file)
        try start("asked")
        try start("restored")
        // One that is used up is not kept.
        let last = try screen("persist no")
        let broadcast = try Broadcast(in: directory, scripted: desk, ports: ports)
        try broadcast.waitUntilLive()
        #expect(access(file, F_OK) != 0)
        last.end()
      }
    }

    // BL-27. PipeWire gives an id to the next node as soon as it is free (flatpak/xdg-desktop-portal PR 1942).
    @Test func `another source under the id of the one that was granted is never shown`() throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let red = try desk.screen("red")
        let granted = try #require(try desk.node(named: "red"))
        let green = try desk.screen("green", color: 0xff00_ff00)
        let other = try #require(try desk.node(named: "green"))
        try desk.answer("answer accept", "node red", "serial \(granted.serial)")
        let broadcast = try Broadcast(in: directory, scripted: desk)
        try broadcast.waitUntilLive()
        let viewer = try viewer(of: broadcast)
        try desk.answer("answer accept", "id \(other.id)", "serial \(granted.serial)")
        red.end()
        try waitUntil("two more answers") { desk.starts.count > 2 ? () : nil }
        try waitForText("node is gone, before its first picture", of: broadcast)
        // All that came after the interruption.
        try viewer.receiveState(.interrupted)
        let end = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < end {
          let raw = try #require(try viewer.receive())
          #expect(raw.header.kind != .packet)
        }
        green.end()
      }
    }

    /// The screen `red`, which the user allows, `how` they are told to; it is live, and has a viewer.
    private func withAllowedScreen(
      _ how: String...,
      body: (ScriptedDesk, ProcessRun, Broadcast, ScriptedPeer) throws -> Void
    ) throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let screen = try desk.screen("red")
        try desk.answer(["answer accept", "node red"] + how)
        let broadcast = try Broadcast(in: directory, scripted: desk)
        try broadcast.waitUntilLive()
        try body(desk, screen, broadcast, viewer(of: broadcast))
      }
    }

    private func viewer(of broadcast: Broadcast) throws -> ScriptedPeer {
      try waitUntil("the relay") { try? ScriptedPeer.consumer(of: broadcast.consumers) }
    }

    /// Waits until the status, which the page shows as it is, has these words.
    /// An agent says why it ends before it does.
    private func waitForDeath(_ words: String, of broadcast: Broadcast) throws {
      try waitUntil("a death with \(words)") {
        broadcast.status?.lastDeath.contains(words) == true ? () : nil
      }
    }

    private func waitForText(_ words: String, of broadcast: Broadcast) throws {
      try waitUntil("\(words) in the status") {
        (broadcast.status?.json["text"] as? String)?.contains(words) == true ? () : nil
      }
    }
  }
}
