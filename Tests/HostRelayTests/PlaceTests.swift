import Glibc
import Posix
import TestSupport
import Testing

/// Who keeps a place, and what is left for those who need one.
@Suite struct PlaceTests {
  private func request(
    _ relay: RelayRun, _ lines: String, path: String = "/live.ts"
  ) throws -> ScriptedPeer {
    let peer = try ScriptedPeer(to: relay.http)
    try peer.send(Array("GET \(path) HTTP/1.1\r\n\(lines)\r\n\r\n".utf8))
    return peer
  }

  /// What comes until the relay closes; throws when it does not.
  private func answer(_ peer: ScriptedPeer, within limit: Duration = .seconds(3)) throws -> String {
    var bytes: [UInt8] = []
    try waitUntil("the connection's end", within: limit) {
      var piece = [UInt8](repeating: 0, count: 4096)
      let count = recv(peer.socket.raw, &piece, piece.count, Int32(MSG_DONTWAIT))
      if count > 0 { bytes += piece[..<count] }
      return count == 0
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func countStarts(_ directory: TestDirectory) -> Int {
    (try? readFile(directory.file("starts")).count) ?? 0
  }

  @Test(
    "an upgrade is refused and closed, and takes no place from anybody",
    arguments: ["websocket", "h2c", "other"], ["/live.ts", "/chat"])
  func upgrades(name: String, path: String) throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(["--agent", "127.0.0.1:1"], in: directory)
      defer { relay.process.end() }
      // A WebSocket is had at /watch alone.
      let peers = try (0..<70).map { _ in
        try request(
          relay,
          """
          Host: localhost\r
          Connection: Upgrade\r
          Upgrade: \(name)\r
          Sec-WebSocket-Version: 13\r
          Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
          """, path: path)
      }
      for peer in peers { #expect(try answer(peer).prefix(12).hasSuffix(" 403")) }
      #expect(try relay.get("/healthz", ["-m", "2"]).hasSuffix("503"))
    }
  }

  @Test("who is refused loses the connection too")
  func refused() throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(["--agent", "127.0.0.1:1"], in: directory)
      defer { relay.process.end() }
      let peer = try request(relay, "Host: evil.example")
      let text = try answer(peer)
      #expect(text.hasPrefix("HTTP/1.1 403"))
      #expect(text.lowercased().contains("\r\nconnection: close\r\n"))
    }
  }

  @Test("every address that is printed for a wildcard is answered", arguments: ["0.0.0.0", "[::]"])
  func wildcard(host: String) throws {
    try withTestDirectory { directory in
      let relay = try RelayRun(["--agent", "127.0.0.1:1", "--http", "\(host):0"], in: directory)
      defer { relay.process.end() }
      #expect(relay.viewerAddresses.first?.hasPrefix("http://127.0.0.1:") == true)
      for address in relay.viewerAddresses {
        let page = try ProcessRun.run("curl", ["-sf", "-g", "-m", "5", address], in: directory)
        #expect(page.output.contains("Porthole"), "\(address)")
      }
    }
  }

  @Test("when viewers have all places, the next is told so and the status still answers")
  func places() throws {
    try withTestDirectory { directory in
      let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = min(limit.rlim_max, 4096)
      setrlimit(resource, &limit)
      let relay = try RelayRun(["--agent", "127.0.0.1:1"], in: directory)
      defer { relay.process.end() }
      let viewers = try (0..<1000).map { _ in try request(relay, "Host: localhost") }
      try waitUntil("all viewers") {
        try relay.get("/api/v1/status", ["-m", "2"]).contains("\"now\":1000")
      }
      #expect(try answer(request(relay, "Host: localhost")).hasPrefix("HTTP/1.1 503"))
      #expect(viewers.count == 1000)
    }
  }

  @Test("viewers leave descriptors for the link and for the agent's start")
  func descriptors() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(agent.address)"], in: directory, descriptors: 40)
      defer { relay.process.end() }
      var link = try agent.begin()
      let consumers = (0..<60).compactMap { _ in try? ScriptedPeer.consumer(of: relay.consumers) }
      try waitUntil("none are left for viewers") {
        relay.process.errors.contains("what is left of ulimit -n is for the agent")
      }
      for instance in 2...4 as ClosedRange<UInt64> {
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        link = try agent.begin(instance: instance)
      }
      #expect(!consumers.isEmpty)
    }
    try withTestDirectory { directory in
      let port = SocketAddress(bytes: [127, 0, 0, 1], port: 1)
      let relay = try RelayRun(
        [
          "--agent", "\(port)", "--spawn-agent",
          "sh -c 'printf x >> \(directory.file("starts")); exit 1'",
        ], in: directory, descriptors: 40)
      defer { relay.process.end() }
      let consumers = (0..<60).compactMap { _ in try? ScriptedPeer.consumer(of: relay.consumers) }
      try waitUntil("none are left for viewers") {
        relay.process.errors.contains("what is left of ulimit -n is for the agent")
      }
      let before = countStarts(directory)
      try waitUntil("two more starts") { countStarts(directory) >= before + 2 }
      #expect(!relay.process.errors.contains("cannot be started"))
      #expect(!consumers.isEmpty)
    }
  }
}
