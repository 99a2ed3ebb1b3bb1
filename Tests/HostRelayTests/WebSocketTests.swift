import Glibc
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// `/watch`: what a browser gets, who may have it, and when it is closed.
@Suite struct WebSocketTests {
  private func keyframe(on link: ScriptedPeer, bytes: Int = 100) throws {
    try link.sendPacket(
      [0, 0, 0, 1, 0x65] + [UInt8](repeating: 7, count: bytes), pts: MonotonicClock.now(),
      isKeyframe: true)
  }

  private func packet(_ event: WebSocketPeer.Event) -> RawMessage? {
    if case .message(let raw) = event, raw.header.kind == .packet { raw } else { nil }
  }

  @Test("a browser reads what a program reads, one message of the wire in each of its own")
  func watch() throws {
    try withRelay { relay, agent, _ in
      let link = try agent.begin()
      try keyframe(on: link, bytes: 200_000)
      let browser = try WebSocketPeer(relay)
      #expect(browser.status == 101)
      var kinds: [MessageKind] = []
      let first = try browser.receive("a packet") { event -> RawMessage? in
        if case .message(let raw) = event { kinds.append(raw.header.kind) }
        return packet(event)
      }
      #expect(Set(kinds) == [.greeting, .sessionState, .started, .streamDescription, .packet])
      #expect(kinds.first == .greeting && kinds.last == .packet)
      #expect(first.header.flags.contains(.keyframe) && first.payload.count == 200_005)
    }
  }

  @Test("a hidden page gets messages and no picture, and goes on at a keyframe")
  func held() throws {
    try withRelay { relay, agent, _ in
      let link = try agent.begin()
      try keyframe(on: link)
      let browser = try WebSocketPeer(relay, path: "/watch?hold=1")
      for _ in 0..<3 { try keyframe(on: link) }
      // What was held back would come before the next heartbeat.
      try browser.receive("a heartbeat") { event -> Bool? in
        guard case .message(let raw) = event else { return nil }
        #expect(raw.header.kind != .packet)
        return raw.header.kind == .heartbeat ? true : nil
      }
      try browser.send(.resume)
      try link.receive("a keyframe request") { $0.header.kind == .keyframeRequest ? () : nil }
      try link.sendPacket([0, 0, 0, 1, 0x41], pts: MonotonicClock.now(), isKeyframe: false)
      try keyframe(on: link)
      let first = try browser.receive("a packet", packet)
      #expect(first.header.flags.contains(.keyframe))
      try browser.send(.pause(.control))
    }
  }

  @Test("a heartbeat of the page comes back with its time")
  func heartbeat() throws {
    try withRelay { relay, _, _ in
      let browser = try WebSocketPeer(relay)
      try browser.send(.heartbeat(time: 77, echo: 0))
      let echo = try browser.receive("the echo") { event -> UInt64? in
        guard case .message(let raw) = event,
          case .heartbeat(let time, let echo) = try Message(raw),
          echo != 0
        else { return nil }
        #expect(time > 0)
        return echo
      }
      #expect(echo == 77)
    }
  }

  @Test("a page that stops acknowledging is closed with the reason, one that never began is not")
  func acknowledgements() throws {
    try withRelay { relay, agent, _ in
      let link = try agent.begin()
      try keyframe(on: link)
      let silent = try WebSocketPeer(relay)
      let other = try WebSocketPeer(relay)
      try silent.send(.acknowledgement(packets: 1))
      let (code, reason) = try silent.receive("the close") { event -> (UInt16, String)? in
        if case .closed(let code, let reason) = event { (code, reason) } else { nil }
      }
      #expect(code == 1008)
      #expect(reason == "no acknowledgement for 4 s")
      try keyframe(on: link)
      try other.receive("a packet") { packet($0).map { _ in true } }
      let status = try relay.get("/api/v1/status")
      #expect(status.contains("\"closed_slow\":1"))
    }
  }

  @Test("what is no message of a viewer closes the socket with a reason")
  func wrongMessages() throws {
    try withRelay { relay, _, _ in
      let wrong: [[UInt8]] = [
        Message.finish("no").encoded(), [UInt8](repeating: 0xff, count: 30),
        Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
      ]
      for bytes in wrong {
        let browser = try WebSocketPeer(relay)
        try browser.sendFrame(2, bytes)
        let code = try browser.receive("the close") { event -> UInt16? in
          if case .closed(let code, _) = event { code } else { nil }
        }
        #expect(code == 1002)
      }
      #expect(try relay.get("/healthz").hasSuffix("503"))
    }
  }

  @Test("other sites, other names and strangers without the key get no socket")
  func refused() throws {
    try withRelay { relay, _, _ in
      let cases: [(path: String, fields: [String], status: Int)] = [
        ("/watch", ["Origin: http://\(relay.http)"], 101),
        ("/watch", ["Origin: http://evil.example"], 403),
        ("/watch", ["Sec-Fetch-Site: cross-site"], 403), ("/live.ts", [], 403), ("/", [], 403),
      ]
      for (path, fields, status) in cases {
        let browser = try WebSocketPeer(relay, path: path, fields: fields)
        #expect(browser.status == status, "\(path) \(fields)")
      }
    }
  }

  @Test("at the relay's end a page reads that the broadcast is over, then the close")
  func relayEnds() throws {
    try withRelay { relay, agent, _ in
      let link = try agent.begin()
      try keyframe(on: link)
      let browser = try WebSocketPeer(relay)
      try browser.receive("a packet") { packet($0).map { _ in true } }
      kill(relay.process.pid, SIGTERM)
      var hasFinished = false
      let code = try browser.receive("the close") { event -> UInt16? in
        switch event {
        case .message(let raw) where raw.header.kind == .finished: hasFinished = true
        case .closed(let code, _): return code
        default: break
        }
        return nil
      }
      #expect(code == 1001)
      #expect(hasFinished)
      shutdown(link.socket.raw, Int32(SHUT_RDWR))
      try waitUntil("the relay's end") { relay.process.exitCode }
      #expect(relay.process.exitCode == 0)
    }
  }
}
