import Glibc
import Posix
import TestSupport
import Testing
import Wire

/// Who gets in, and what those cost who do not.
@Suite struct DoorTests {
  private func withRelay(_ body: (RelayRun, TestDirectory) throws -> Void) throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(["--agent", "127.0.0.1:1"], in: directory)
      defer { relay.process.end() }
      try body(relay, directory)
    }
  }

  @Test("HTTP on the consumers' port is closed at its first bytes")
  func httpOnConsumersPort() throws {
    try withRelay { relay, _ in
      let peer = try ScriptedPeer(to: relay.consumers)
      try peer.send(Array("GET ".utf8))
      #expect(try peer.receive(within: .seconds(2)) == nil)
    }
  }

  @Test("another version, another role and a message before the greeting are refused by name")
  func refusals() throws {
    try withRelay { relay, _ in
      var other = Greeting(role: .consumer, pid: 1, instance: 1)
      other.version = 999
      let cases: [(Message, FinishCode)] = [
        (.greeting(other), .otherVersion),
        (.greeting(Greeting(role: .relay, pid: 1, instance: 1)), .wrongUse),
        (.keyframeRequest(stream: 1), .protocolError),
      ]
      for (message, code) in cases {
        let peer = try ScriptedPeer(to: relay.consumers)
        try peer.send(message)
        let refusal = try peer.receive("refusal") { raw -> FinishCode? in
          guard case .refusal(let code, _) = try Message(raw) else { return nil }
          return code
        }
        #expect(refusal == code)
        #expect(try peer.receive() == nil)
      }
    }
  }

  @Test(
    "a connection that says nothing is cut after five seconds, and 64 of them stop no one after")
  func silentConnections() throws {
    try withRelay { relay, _ in
      let begin = ContinuousClock.now
      let silent = try (0..<RelayDoor.ungreeted).map { _ in try ScriptedPeer(to: relay.consumers) }
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.waiting)
      #expect(ContinuousClock.now - begin > .seconds(4))
      for peer in silent { _ = try peer.receive(within: .seconds(2)) }
    }
  }

  @Test("a path, a method, a host or a site that is not ours is refused")
  func requests() throws {
    try withRelay { relay, _ in
      #expect(try relay.get("/").contains("Porthole"))
      let cases: [([String], String, Int)] = [
        ([], "/nothing", 404), (["-X", "POST"], "/", 405), (["-X", "POST"], "/api/v1/status", 405),
        (["-X", "PUT", "-d", "{}"], "/nothing", 404),
        (["-X", "PUT", "-H", "Host: evil.example"], "/", 403),
        (["-H", "Host: evil.example"], "/live.ts", 403),
        (["-H", "Host:"], "/api/v1/status", 403),
        (["-H", "Origin: http://evil.example"], "/api/v1/status", 403),
        (["-H", "Sec-Fetch-Site: cross-site"], "/live.ts", 403),
        (["-H", "Origin: http://\(relay.http)"], "/api/v1/status", 200), ([], "/healthz", 503),
      ]
      for (options, path, status) in cases {
        let answer = try relay.get(path, ["-m", "5"] + options)
        #expect(answer.hasSuffix("\n\(status)"), "\(options) \(path): \(answer)")
      }
    }
  }

  @Test("another method than a path takes is told which it takes")
  func methods() throws {
    try withRelay { relay, _ in
      for (method, path, allowed) in [
        ("PUT", "/", "GET, HEAD"), ("DELETE", "/live.ts", "GET, HEAD"),
        ("OPTIONS", "/snapshot.png", "GET, HEAD"), ("PUT", "/api/v1/pause", "POST"),
        ("GET", "/api/v1/pause", "POST"), ("PATCH", "/api/v1/setup", "GET, POST"),
        ("DELETE", "/recordings/a.mp4", "GET, HEAD"), ("GET", "/api/v1/recordings/delete", "POST"),
      ] {
        let answer = try relay.get(path, ["-i", "-X", method, "-m", "20"])
        #expect(answer.contains("\nallow: \(allowed)\r\n"), "\(method) \(path): \(answer)")
        #expect(answer.hasSuffix("\n405"))
      }
    }
  }

  // They were closed without a word, and some only after five seconds.
  @Test("a request that is wrong is answered, at once")
  func wrongRequests() throws {
    try withRelay { relay, _ in
      let host = "Host: localhost\r\n"
      let long = String(repeating: "a", count: 5000)
      for (request, status) in [
        ("\u{1}\u{2}\u{3}", 400), ("\r\n", 400), ("get / HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET /\r\n\r\n", 400), ("GET / HTTP/2\r\n\(host)\r\n", 400),
        ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\(host) a: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", 400), ("PUT / HTTP/1.1\r\na\r\n\r\n", 400),
        ("GET /\(long) HTTP/1.1\r\n\(host)\r\n", 431),
        ("POST /api/v1/pause HTTP/1.1\r\n\(host)Cookie: \(long)\r\n\r\n", 431),
        ("GET /live.ts HTTP/1.1\r\n\(host)Cookie: \(long)\r\n\r\n", 431),
      ] {
        let peer = try ScriptedPeer(to: relay.http)
        try peer.send(Array(request.utf8))
        let answer = String(decoding: try peer.receiveAll(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(40)): \(answer)")
        #expect(answer.contains("content-type: text/plain"))
      }
      let torn = try ScriptedPeer(to: relay.http)
      try torn.send(Array("GET / HTTP/1.1\r\n".utf8))
      shutdown(torn.socket.raw, Int32(SHUT_WR))
      let answer = String(decoding: try torn.receiveAll(), as: UTF8.self)
      #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
    }
  }

  @Test("another user watches with the viewer key only")
  func otherUser() throws {
    try withRelay { relay, directory in
      try #require(getuid() == 0, "only root can be somebody else")
      func get(_ query: String) throws -> String {
        try ProcessRun.run(
          "setpriv",
          [
            "--reuid", "65534", "--clear-groups", "curl", "-s", "-w", "\n%{http_code}",
            "http://\(relay.http)/api/v1/status\(query)",
          ], in: directory
        ).output
      }
      #expect(try get("").hasSuffix("403"))
      #expect(try get("?key=00000000000000000000000000000000").hasSuffix("403"))
      #expect(try get("?key=\(relay.viewerKey)").hasSuffix("200"))
    }
  }

  @Test("requests that are torn, endless or no HTTP leave the relay as it was")
  func malformedRequests() throws {
    try withRelay { relay, _ in
      var numbers = SplitMix(seed: 3)
      let requests: [[UInt8]] = [
        Array("GET / HTTP/1.1\r\n".utf8), Array("GET\r\n\r\n".utf8), Array("\r\n\r\n\r\n".utf8),
        Array("GET /".utf8) + [UInt8](repeating: 0x61, count: 100_000),
        Array("GET / HTTP/1.1\r\nHost: ".utf8) + [UInt8](repeating: 0x62, count: 100_000),
        Array("GET /%zz%00%0d%0a?key=%ff HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
        (0..<10_000).map { _ in UInt8(numbers.below(256)) },
      ]
      for request in requests {
        let peer = try ScriptedPeer(to: relay.http)
        try? peer.send(request)
        #expect(try relay.get("/healthz").hasSuffix("503"))
      }
      #expect(relay.process.exitCode == nil)
    }
  }

  // Each byte of a body gave its sender five seconds more, and nobody was told why it was cut.
  @Test("a request that is not whole five seconds after it began is cut, with the reason")
  func trickle() throws {
    try withRelay { relay, _ in
      let peer = try ScriptedPeer(to: relay.http)
      let head = "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n"
      try peer.send(Array(head.utf8))
      let begin = ContinuousClock.now
      let silent = try ScriptedPeer(to: relay.http)
      // libwebsockets waits for more of the last one.
      let late = try [
        "GET / HTTP/1.1\r\nHo", "GET /live.ts HTTP/1.1\r\n", "PUT /", head,
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\r\n",
      ].map { request in
        let peer = try ScriptedPeer(to: relay.http)
        try peer.send(Array(request.utf8))
        return peer
      }
      var wait = pollfd(fd: peer.socket.raw, events: Int16(POLLIN), revents: 0)
      try waitUntil("the cut", within: .seconds(9)) {
        try? peer.send([0x20])
        return poll(&wait, 1, 500) > 0
      }
      #expect(ContinuousClock.now - begin > .seconds(4))
      for peer in [peer] + late {
        let answer = String(decoding: try peer.receiveAll(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"), "\(answer)")
        #expect(answer.hasSuffix("whole within 5 s\n"))
      }
      #expect(try silent.receiveAll().isEmpty)
    }
  }

  // It was counted, and logged, as a connection that broke.
  @Test("a player that is closed with bytes unread has left, and is not lost")
  func reset() throws {
    try withRelay { relay, _ in
      do {
        let player = try ScriptedPeer(to: relay.http)
        let head = "GET /live.ts HTTP/1.1\r\nHost: \(relay.http)\r\n\r\n"
        try player.send(Array(head.utf8))
        var wait = pollfd(fd: player.socket.raw, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wait, 1, 10_000) == 1)
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        #expect(setsockopt(player.socket.raw, SOL_SOCKET, SO_LINGER, &atOnce, size) == 0)
      }
      try waitUntil("its end") { try relay.get("/api/v1/status").contains("\"left\":1") }
      #expect(!relay.process.errors.contains("lost"))
    }
  }

  @Test("a second relay on the same port is told which option to change, with exit code 75")
  func portInUse() throws {
    try withRelay { relay, directory in
      for (option, address) in [("--consumers", relay.consumers), ("--http", relay.http)] {
        let others = ["--consumers", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        let second = try RelayRun.start(
          others + [option, "\(address)"], in: directory, name: "second")
        #expect(try second.waitForEnd() == 75)
        #expect(second.errors.contains("port \(address.port) is in use"))
        #expect(second.errors.contains(option))
        #expect(second.errors.split(separator: "\n").count == 1)
      }
    }
  }

  @Test(
    "a wrong command line is one line and exit code 64",
    arguments: [
      ["--agent", "192.0.2.1:1"], ["--agent", "nowhere"], ["--hold", "-1"], ["--nothing"],
      ["--spawn-agent", "'open"], ["--viewer-key", "short"], ["word"],
    ])
  func usage(arguments: [String]) throws {
    try withTestDirectory { directory in
      let relay = try RelayRun.start(arguments, in: directory)
      #expect(try relay.waitForEnd() == 64)
      #expect(relay.errors.split(separator: "\n").count == 1)
    }
  }
}

private enum RelayDoor {
  /// As many as may wait to greet; the limit itself is tested with the antechamber.
  static let ungreeted = 64
}
