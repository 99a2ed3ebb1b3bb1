import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// `--tls`: one port, one certificate, and nothing in the clear.
@Suite struct TLSTests {
  private func openssl(_ words: [String], in directory: TestDirectory) throws {
    let run = try ProcessRun.run("openssl", words, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
  }

  /// A certificate and a key that the relay has not made.
  private func makeGiven(
    in directory: TestDirectory, _ name: String
  ) throws -> (certificate: String, key: String) {
    let files = (directory.file("\(name).crt"), directory.file("\(name).key"))
    try openssl(
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        + ["-days", "2", "-subj", "/CN=given", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-out", files.0, "-keyout", files.1], in: directory)
    return files
  }

  // libwebsockets tells later of the end of a connection that it would not have, and a younger one at the same
  // address went with it, or the relay.
  @Test("a client that has given up before its handshake takes no other one along")
  func givenUp() throws {
    try withRelay(["--tls"]) { relay, _, _ in
      let silent = try (0..<130).map { _ in try ScriptedPeer(to: relay.http) }
      let early = try ProcessRun.run(
        "curl", ["-sk", "--max-time", "1", "https://\(relay.http)/healthz"], in: relay.directory)
      #expect(early.exitCode == 28, "it waits behind the silent ones")
      for _ in 0..<6 {
        #expect(try relay.get("/healthz", ["--max-time", "20"]).hasSuffix("503"))
      }
      #expect(relay.process.exitCode == nil)
      withExtendedLifetime(silent) {}
    }
  }

  // libwebsockets reads nothing behind the request, and was woken by what was there for ever.
  @Test("a viewer by TLS that leaves, or says more, while nothing is sent, is let go")
  func leftAlone() throws {
    try withRelay(["--tls"]) { relay, _, _ in
      func readers() throws -> Int {
        let status = try relay.get("/api/v1/status")
        let now = status.matches(of: /"containers":\{"now":(\d+)/).first
        return try #require(now.flatMap { Int($0.1) })
      }
      let url = "\(relay.scheme)://\(relay.http)/live.ts"
      let leaver = try ProcessRun(
        "curl", ["-sk", "-o", relay.directory.file("nothing"), url], name: "leaver",
        in: relay.directory)
      defer { leaver.end() }
      try waitUntil("a reader", isTrue: { try readers() == 1 })
      leaver.end()
      try waitUntil("the end of it", isTrue: { try readers() == 0 })
      let script = """
        import ssl, socket
        s = ssl._create_unverified_context().wrap_socket(
            socket.create_connection(("127.0.0.1", \(relay.http.port))))
        s.sendall(b"GET /live.ts HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
        s.recv(4096)
        s.sendall(bytes(100000))
        while s.recv(4096): pass
        """
      let talker = try ProcessRun(
        "/usr/bin/python3", ["-c", script], name: "talker", in: relay.directory)
      defer { talker.end() }
      _ = try talker.waitForEnd(within: .seconds(10))
      try waitUntil("its end", isTrue: { try readers() == 0 })
    }
  }

  @Test("page, status, control and both streams come by TLS, and curl trusts the certificate")
  func everything() throws {
    try withRelay(["--tls"]) { relay, agent, _ in
      #expect(relay.scheme == "https")
      let video = try SampleVideo(in: relay.directory)
      #expect(try relay.get("/").contains("<title>Porthole</title>"))
      #expect(try relay.get("/metrics").hasSuffix("200"))
      #expect(try relay.ctl("pause").output.contains("\"paused\":true"))
      #expect(try relay.ctl("resume").exitCode == 0)
      let asking = [
        "-d", "{}", "-H", "Expect: 100-continue", "--expect100-timeout", "60", "-m", "20",
      ]
      #expect(try relay.get("/api/v1/resume", asking).hasSuffix("\n200"))
      let wrong = try relay.get("/api/v1/pause", ["-i", "-X", "DELETE", "-m", "20"])
      #expect(wrong.contains("\nallow: POST\r\n") && wrong.hasSuffix("\n405"), "\(wrong)")
      let players = try ["ts", "mp4"].map { kind in
        try ProcessRun(
          "curl",
          ["-sN", "--cacert", RelayRun.certificate(in: relay.directory)]
            + ["\(relay.scheme)://\(relay.http)/live.\(kind)"], name: "player-\(kind)",
          in: relay.directory)
      }
      defer { for player in players { player.end() } }
      try waitUntil("both players") {
        try relay.get("/api/v1/status").components(separatedBy: "\"now\":1").count == 3
      }
      let link = try agent.begin()
      for unit in video.accessUnits {
        try link.sendPacket(unit.bytes, pts: MonotonicClock.now(), isKeyframe: unit.isKeyframe)
      }
      try waitUntil("all of both streams") {
        try players.allSatisfy { player in
          try readFile(player.outputPath).count
            > video.accessUnits.reduce(0) { $0 + $1.bytes.count }
        }
      }
      // The file ends with the session, also there.
      try link.send(.finished(.finished, "over"))
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      for player in players { #expect(try player.waitForEnd(within: .seconds(10)) == 0) }
    }
  }

  @Test("plain HTTP on that port gets one clear answer, and never a byte more")
  func plain() throws {
    try withRelay(["--tls"]) { relay, _, _ in
      let plain = { (path: String) in
        try ProcessRun.run(
          "curl", ["-si", "http://\(relay.http)\(path)"], in: relay.directory
        ).output
      }
      let page = try plain("/")
      #expect(page.hasPrefix("HTTP/1.1 308"))
      #expect(page.contains("location: https://\(relay.http)/\r\n"))
      for path in ["/live.ts", "/api/v1/status", "/page.js"] {
        let answer = try plain(path)
        #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
        #expect(answer.hasSuffix("this port speaks TLS: ask https://\(relay.http)\(path)\n"))
      }
      #expect(try WebSocketPeer(relay).status == 403)
    }
  }

  @Test("a plain port answers a TLS greeting in words")
  func handshakeOnPlainPort() throws {
    try withRelay { relay, _, _ in
      let peer = try ScriptedPeer(to: relay.http)
      try peer.send([22, 3, 1, 2, 0] + [UInt8](repeating: 1, count: 200))
      var answer = [UInt8](repeating: 0, count: 4096)
      try waitUntil("an answer") {
        recv(peer.socket.raw, &answer, answer.count, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
      }
      #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 400"))
    }
  }

  @Test("a certificate is made once, and anew when an address or a name is missing in it")
  func kept() throws {
    try withTestDirectory { directory in
      let path = directory.file("a/b/tls.pem")
      let addresses = [try #require(SocketAddress("127.0.0.1:1"))]
      let first = try SelfSignedCertificate.kept(at: path, addresses: addresses, names: ["a.local"])
      #expect(first.isValid(for: 300 * 86_400) && !first.isValid(for: 400 * 86_400))
      #expect(first.fingerprint.count == 32 * 3 - 1)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      let again = try SelfSignedCertificate.kept(at: path, addresses: addresses, names: ["a.local"])
      #expect(again.fingerprint == first.fingerprint)
      let more = try #require(SocketAddress("[fd00::7]:1"))
      let wider = try SelfSignedCertificate.kept(
        at: path, addresses: addresses + [more], names: ["a.local"])
      #expect(wider.fingerprint != first.fingerprint)
      #expect(wider.isFor(addresses: [more], names: ["a.local"]))
      #expect(!wider.isFor(addresses: [], names: ["b.local"]))
      let named = try SelfSignedCertificate.kept(at: path, addresses: addresses, names: ["b.local"])
      #expect(named.fingerprint != wider.fingerprint)
    }
  }

  @Test("a certificate that has expired is made anew")
  func expired() throws {
    try withTestDirectory { directory in
      let given = try makeGiven(in: directory, "old")
      let path = directory.file("tls.pem")
      try (readFile(given.certificate) + readFile(given.key)).withUnsafeBytes {
        try Data($0).write(to: URL(fileURLWithPath: path))
      }
      let addresses = [try #require(SocketAddress("127.0.0.1:1"))]
      let old = try Certificate(file: path)
      #expect(old.isFor(addresses: addresses, names: []) && old.isValid(for: 86_400))
      let kept = try SelfSignedCertificate.kept(at: path, addresses: addresses, names: [])
      #expect(kept.fingerprint != old.fingerprint)
    }
  }

  @Test("a certificate that is given is shown, and ctl takes no other for it")
  func given() throws {
    try withTestDirectory { directory in
      let given = try makeGiven(in: directory, "given")
      let other = try makeGiven(in: directory, "other")
      let relay = try RelayRun(
        ["--agent", "127.0.0.1:1", "--tls-certificate", given.certificate]
          + ["--tls-key", given.key], in: directory)
      defer { relay.process.end() }
      #expect(relay.process.output.contains(try Certificate(file: given.certificate).fingerprint))
      #expect(try relay.ctl("status").exitCode == 0)
      #expect(try relay.ctl("status", "--tls-certificate", given.certificate).exitCode == 0)
      let wrong = try relay.ctl("status", "--tls-certificate", other.certificate)
      #expect(wrong.exitCode == 69)
      #expect(wrong.errors.contains("its certificate is another one"), "\(wrong.errors)")
      #expect(wrong.output == "")
    }
  }

  @Test("a certificate that cannot be used ends the start with its file's name")
  func unusable() throws {
    try withTestDirectory { directory in
      let one = try makeGiven(in: directory, "one")
      let other = try makeGiven(in: directory, "other")
      let cases = [
        (["--tls-certificate", one.certificate], "go together"),
        (["--tls-certificate", "/none", "--tls-key", one.key], "/none"),
        (["--tls-certificate", one.certificate, "--tls-key", "/none"], "/none"),
        (["--tls-certificate", one.certificate, "--tls-key", other.key], other.key),
        (["--tls-certificate", one.key, "--tls-key", one.key], one.key),
      ]
      for (words, text) in cases {
        let run = try RelayRun.start(words + ["--http", "127.0.0.1:0"], in: directory)
        #expect(try run.waitForEnd() == 64)
        #expect(run.errors.contains(text), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1)
      }
    }
  }
}
