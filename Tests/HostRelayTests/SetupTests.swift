import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// What may be set up, as a value and as a file.
@Suite struct SetupTests {
  @Test("each member is read, and taken back by null")
  func members() throws {
    var setup = Setup()
    try setup.change([
      "name": .text("desk"), "source": .text("node:12"), "sound": .text("app:mpv"),
      "size": .text("1280x720"), "fps": .number(24), "bitrate": .number(2_000_000),
      "pushes": .list([.text("udp://127.0.0.1:9")]),
    ])
    #expect(
      setup.agentWords == [
        "--name=desk", "--source=node:12", "--audio=app:mpv", "--size=1280x720", "--fps=24",
        "--bitrate=2000000",
      ])
    #expect(setup.pushes.map(\.text) == ["udp://127.0.0.1:9"])
    try setup.change(["name": .none, "source": .text(""), "fps": .none, "pushes": .none])
    #expect(setup.agentWords == ["--audio=app:mpv", "--size=1280x720", "--bitrate=2000000"])
    #expect(setup.pushes.isEmpty)
  }

  @Test(
    "what is wrong is named by its member, and nothing of the rest is taken",
    arguments: [
      ("name", JSONText.number(1)), ("name", .text("a\nb")), ("name", .text("a\u{85}b")),
      ("name", .text("a\u{202E}b")), ("source", .text("screen")),
      ("name", .text(String(repeating: "x", count: WireLimits.text + 1))),
      ("source", .text("node:")), ("source", .truth(true)), ("sound", .text("mic:")),
      ("sound", .text("loud")), ("size", .text("0x720")), ("size", .text("1280")),
      ("fps", .number(0)), ("fps", .number(241)), ("fps", .text("30")), ("fps", .decimal(29.97)),
      ("bitrate", .number(99_999)), ("bitrate", .number(200_000_001)),
      ("pushes", .text("udp://h:1")),
      ("pushes", .list([.number(1)])), ("pushes", .list([.text("/tmp/file.ts")])),
      ("pushes", .list([.text("hls:/tmp/live.m3u8")])),
      ("pushes", .list([.text("file:///tmp/a.ts")])),
      ("pushes", .list([.text("rtmp://host/app")])),
      ("pushes", .list(Array(repeating: .text("udp://127.0.0.1:9"), count: 9))),
      ("rate", .number(3)),
    ])
  func wrong(member: String, value: JSONText) {
    var setup = Setup()
    let error = #expect(throws: SetupError.self) {
      try setup.change(["audience": .none, member: value].filter { $0.key == member })
    }
    #expect(error?.description.hasPrefix(member) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("\n") == false)
    #expect(throws: SetupError.self) {
      try setup.change(["fps": .number(7), "name": .truth(true)])
    }
    #expect(setup.agentWords.isEmpty && setup.pushes.isEmpty)
  }

  @Test("limits hold at n")
  func limits() throws {
    var setup = Setup()
    try setup.change(["name": .text(String(repeating: "x", count: WireLimits.text))])
    for fps in [1, 240] { try setup.change(["fps": .number(fps)]) }
    for rate in [100_000, 200_000_000] { try setup.change(["bitrate": .number(rate)]) }
    let many = Array(repeating: JSONText.text("udp://127.0.0.1:9"), count: RelayLimits.setupPushes)
    try setup.change(["pushes": .list(many)])
    #expect(setup.pushes.count == RelayLimits.setupPushes)
  }

  @Test("a push is shown without its secret, and keeps it where it is sent back as it is shown")
  func secrets() throws {
    var setup = Setup()
    let keys = ["rtmp://host/app/secret1", "rtmp://host/app/secret2"]
    try setup.change(["pushes": .list(keys.map { .text($0) })])
    let shown = JSONText.object(setup.json).encoded
    #expect(shown.contains("rtmp://host/app/…") && !shown.contains("secret"))
    try setup.change([
      "pushes": .list([
        .text("udp://127.0.0.1:9"), .text("rtmp://host/app/…"), .text("rtmp://host/app/…"),
      ])
    ])
    #expect(setup.pushes.map(\.text) == ["udp://127.0.0.1:9"] + keys)
    // One of several of one name might be the one that was taken out; one of no known name has no key; one
    // that waits to be called needs none.
    for wrong in [
      "rtmp://host/app/…", "rtmp://other/app/…", "tcp://0.0.0.0:9?listen=1",
      "srt://:9?mode=listener",
    ] {
      #expect(throws: SetupError.self) { try setup.change(["pushes": .list([.text(wrong)])]) }
    }
    let error = #expect(throws: SetupError.self) {
      try setup.change(["pushes": .list([.text("srt://host:1?passphrase=se%01cret")])])
    }
    #expect(error?.description.contains("cret") == false)
  }

  @Test("what is kept is read again, by its owner alone; what cannot be read is named")
  func file() throws {
    try withTestDirectory { directory in
      let path = directory.file("a/b/setup.json")
      let file = SetupFile(path: path, startMark: directory.file("started"))
      #expect(try file.read().agentWords.isEmpty)
      var setup = Setup()
      try setup.change([
        "name": .text("d\u{e4} \"x\""), "pushes": .list([.text("rtmp://host/app/secret")]),
      ])
      try file.keep(setup)
      let read = try file.read()
      #expect(
        read.agentWords == setup.agentWords && read.pushes.map(\.text) == setup.pushes.map(\.text))
      var found = stat()
      #expect(stat(path, &found) == 0 && found.st_mode & 0o777 == 0o600)
      let bad = try #require(fopen(path, "w"))
      fputs("{\"fps\": 0}", bad)
      fclose(bad)
      #expect(throws: SetupError.self) { try file.read() }
      #expect(!file.isStarted)
      try file.markStarted()
      #expect(file.isStarted)
      file.unmarkStarted()
      file.remove()
      #expect(!file.isStarted && access(path, F_OK) != 0)
    }
  }
}

/// A relay that waits for a start.
@Suite struct SetupPhaseTests {
  private func live(_ link: ScriptedPeer, _ consumer: ScriptedPeer) throws {
    try link.sendPacket([0, 0, 0, 1, 0x65], pts: MonotonicClock.now(), isKeyframe: true)
    try consumer.receiveState(.live)
  }

  @Test(
    "nothing is linked before a start, nor after an end, and each start has a session of its own")
  func startAndEnd() throws {
    try withRelay(["--setup"]) { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      var sessions: Set<UInt64> = []
      for round in 1...3 {
        #expect(try consumer.receiveState(.waiting) == "waiting for the start")
        #expect(!(try agent.isCalled))
        for words in [
          ["pause"], ["resume"], ["finish"], ["sound", "mic", "on"], ["bitrate", "1M"],
        ] {
          #expect(try relay.ctl(words).exitCode == 75, "nothing has been started")
        }
        #expect(try relay.ctl("start").exitCode == 0)
        let (link, greeting) = try agent.link(instance: UInt64(round))
        sessions.insert(greeting.session)
        try link.send(.started(.init(name: "test", source: "script", driver: "none")))
        try link.send(.streamDescription(stream: 1, ScriptedAgent.description))
        try live(link, consumer)
        #expect(try relay.ctl("start").exitCode == 75, "it has been started")
        #expect(try relay.ctl("setup", "bitrate=2M").exitCode == 75)
        #expect(try relay.ctl("cancel").exitCode == 75, "viewers have a picture")
        #expect(try relay.ctl("finish", "round", "\(round)").exitCode == 0)
        let reason = try link.receive("finish") { raw -> String? in
          guard case .finish(let reason) = try? Message(raw) else { return nil }
          return reason
        }
        #expect(reason == "round \(round)")
        try consumer.receive("the end") { raw in
          try? Message(raw) == .finished(.finished, "round \(round)") ? () : nil
        }
        #expect(try relay.ctl("start").output.contains("still ending"))
        try link.send(.finished(.finished, "round \(round)"))
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        try waitUntil("the agent to be gone") {
          try relay.get("/api/v1/status").contains("\"connected\":false")
        }
      }
      #expect(sessions.count == 3)
      #expect(relay.process.exitCode == nil)
    }
  }

  @Test("an agent that ends by itself, for good, leaves the relay waiting, with its reason")
  func endedByAgent() throws {
    try withRelay(["--setup"]) { relay, agent, _ in
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      _ = try relay.ctl("start")
      let link = try agent.begin()
      try live(link, consumer)
      try link.send(.finished(.revoked, "at the desktop"))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      #expect(try consumer.receiveState(.finished) == "revoked: at the desktop")
      #expect(try consumer.receiveState(.waiting) == "revoked: at the desktop")
      #expect(!(try agent.isCalled))
      _ = try relay.ctl("start")
      _ = try agent.begin(instance: 2)
      try consumer.receiveState(.starting)
    }
  }

  @Test("a start that shows no picture is cancelled, and a cancelled setup leaves no file")
  func cancelled() throws {
    try withRelay(["--setup"]) { relay, agent, directory in
      let file = directory.file("state/porthole/setup-\(relay.http.port).json")
      #expect(try relay.ctl("setup", "bitrate=2M").output.contains("\"bitrate\":2000000"))
      #expect(access(file, F_OK) == 0)
      _ = try relay.ctl("start")
      let link = try agent.begin()
      #expect(
        try link.receive("bitrate") { raw -> UInt32? in
          guard case .bitrate(_, let rate) = try? Message(raw) else { return nil }
          return rate
        } == 2_000_000)
      #expect(try relay.ctl("cancel").exitCode == 0)
      try link.receive("finish") { try? Message($0) == .finish("cancelled") ? () : nil }
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      #expect(try consumer.receiveState(.waiting) == "cancelled")
      #expect(access(file, F_OK) != 0)
      #expect(access(directory.file("porthole/started-\(relay.http.port)"), F_OK) != 0)
      #expect(try relay.ctl("setup").output.contains("\"bitrate\":null"))
      #expect(!(try agent.isCalled))
    }
  }

  @Test("a relay that is killed is followed by one that goes on, and one that is ended is not")
  func killed() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let port = try freePort()
      func start(_ name: String) throws -> RelayRun {
        try RelayRun(
          ["--setup", "--agent", "\(agent.address)", "--http", "127.0.0.1:\(port)"], in: directory,
          name: name)
      }
      let first = try start("first")
      _ = try first.ctl("setup", "bitrate=3M")
      _ = try first.ctl("start")
      _ = try agent.begin()
      first.process.signal(SIGKILL)
      try first.process.waitForEnd()
      let second = try start("second")
      let link = try agent.begin()
      #expect(
        try link.receive("bitrate") { raw -> UInt32? in
          guard case .bitrate(_, let rate) = try? Message(raw) else { return nil }
          return rate
        } == 3_000_000)
      second.process.signal(SIGTERM)
      try link.receive("finish") { $0.header.kind == .finish ? () : nil }
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      #expect(try second.process.waitForEnd() == 0)
      let third = try start("third")
      defer { third.process.end() }
      #expect(try third.ctl("setup").output.contains("\"started\":false"))
      #expect(try third.ctl("setup").output.contains("\"bitrate\":3000000"), "it is kept")
      #expect(!(try agent.isCalled))
    }
  }

  // It went on with the agent's own source, which might be another one.
  @Test("a relay that cannot read what was started does not go on with it")
  func unreadable() throws {
    try withTestDirectory { directory in
      let path = directory.file("setup.json")
      let file = SetupFile(path: path, startMark: directory.file("started"))
      let first = SetupPhase(file: file, isParent: true)
      try first.change(["source": .text("camera")])
      try first.start()
      var begun: [String?] = []
      let second = SetupPhase(file: file, isParent: true)
      second.begin = { begun.append($0.source) }
      second.resume()
      #expect(begun == ["camera"])
      try Data("{".utf8).write(to: URL(fileURLWithPath: path))
      let third = SetupPhase(file: file, isParent: true)
      third.begin = { begun.append($0.source) }
      third.resume()
      #expect(begun.count == 1 && third.state == .waiting)
    }
  }

  @Test(
    "what only an agent of the relay's can obey is refused without one; so is all without --setup")
  func refused() throws {
    try withRelay(["--setup"]) { relay, _, _ in
      for member in ["name=x", "source=portal", "sound=app", "size=2x2", "fps=5"] {
        let run = try relay.ctl("setup", member)
        #expect(run.exitCode == 64 && run.output.contains("--spawn-agent"), "\(member)")
      }
      #expect(try relay.get("/api/v1/setup", ["-d", "{\"bitrate\":1}"]).hasSuffix("\n400"))
      #expect(try relay.get("/api/v1/setup", ["-X", "PUT"]).hasSuffix("\n405"))
      #expect(try relay.get("/api/v1/start").hasSuffix("\n405"))
    }
    try withTestDirectory { directory in
      let relay = try RelayRun(["--agent", "127.0.0.1:1"], in: directory)
      defer { relay.process.end() }
      for words in [["setup"], ["setup", "bitrate=2M"], ["start"], ["cancel"]] {
        #expect(try relay.ctl(words).exitCode == 75)
      }
    }
  }

  @Test(
    "an agent that is started gets what is set up behind its command, and its final end is told")
  func spawned() throws {
    try withTestDirectory { directory in
      let seen = directory.file("seen")
      let relay = try RelayRun(
        [
          "--setup", "--agent", "127.0.0.1:\(try freePort())", "--spawn-agent",
          "sh -c 'printf \"%s\\n\" \"$@\" >> \(seen); exit 64' agent --source=portal",
        ], in: directory)
      defer { relay.process.end() }
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      _ = try relay.ctl("setup", "source=pattern", "name=a 'b' c", "fps=5")
      for _ in 1...2 {
        #expect(try relay.ctl("start").exitCode == 0)
        let text = try consumer.receiveState(.finished)
        #expect(text.contains("wrong usage (exit 64)"))
        #expect(try consumer.receiveState(.waiting) == text)
      }
      let words = ["--source=portal", "--name=a 'b' c", "--source=pattern", "--fps=5"]
      let lines = String(decoding: try readFile(seen), as: UTF8.self).split(separator: "\n")
      #expect(lines.map(String.init) == words + words)
    }
  }

  @Test("who may only watch reads whether it was started, and nothing of what is set up")
  func viewers() throws {
    try #require(getuid() == 0, "only root can be somebody else")
    try withRelay(["--setup"]) { relay, _, directory in
      _ = try relay.ctl("setup", "pushes=rtmp://host/app/secret", "pushes=udp://127.0.0.1:9")
      let own = try relay.get("/api/v1/setup")
      #expect(own.contains("rtmp://host/app/…") && !own.contains("secret"))
      func get(_ path: String) throws -> String {
        try ProcessRun.run(
          "setpriv",
          [
            "--reuid", "65534", "--clear-groups", "curl", "-s", "-w", "\n%{http_code}",
            "http://\(relay.http)\(path)?key=\(relay.viewerKey)",
          ], in: directory
        ).output
      }
      let status = try get("/api/v1/status")
      #expect(status.contains("\"setup\":{\"started\":false}"))
      #expect(!status.contains("rtmp"))
      #expect(try get("/api/v1/setup").hasSuffix("\n403"))
    }
  }

  @Test("pushes that are set up begin and end with the broadcast")
  func pushes() throws {
    try withRelay(["--setup"]) { relay, agent, directory in
      let video = try SampleVideo(in: directory)
      let sink = try TCPSocket.listen(
        on: SocketAddress(bytes: [127, 0, 0, 1], port: 0), backlog: 8)
      let address = try #require(SocketAddress.local(of: sink.raw))
      _ = try relay.ctl("setup", "pushes=tcp://\(address)")
      for round in 1...2 {
        #expect(try TCPSocket.accept(on: sink.raw) == nil)
        _ = try relay.ctl("start")
        let link = try agent.begin(instance: UInt64(round))
        for (number, unit) in video.accessUnits.prefix(40).enumerated() {
          try link.sendPacket(
            unit.bytes, pts: MonotonicClock.now() + Int64(number) * 33_000_000,
            isKeyframe: unit.isKeyframe)
        }
        let connection = try waitUntil("the push") { () -> ScriptedPeer? in
          guard let socket = try TCPSocket.accept(on: sink.raw) else { return nil }
          return ScriptedPeer(socket)
        }
        _ = try relay.ctl("finish")
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        let bytes = try connection.receiveAll()
        #expect(bytes.count > 188 && bytes.first == 0x47)
        try waitUntil("nothing that is pushed") {
          try relay.get("/api/v1/status").contains("\"pushes\":[]")
        }
      }
    }
  }

  private func freePort() throws -> UInt16 {
    let socket = try TCPSocket.listen(
      on: SocketAddress(bytes: [127, 0, 0, 1], port: 0), backlog: 1)
    return try #require(SocketAddress.local(of: socket.raw)).port
  }
}
