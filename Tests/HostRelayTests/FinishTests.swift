import Glibc
import Posix
import TestSupport
import Testing
import Wire

/// Who ends a broadcast, and what viewers read of it.
@Suite struct FinishTests {
  /// A `finished` with a text of so many bytes.
  private func end(ofBytes count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount)
    var span = bytes.mutableSpan
    MessageHeader(kind: .finished, length: count + 4).write(to: &span)
    return bytes + [0, 0, UInt8(count >> 8), UInt8(count & 255)]
      + [UInt8](repeating: 97, count: count)
  }

  @Test("by HTTP and ctl: an empty reason has a word, a long one is whole, one beyond is refused")
  func byControl() throws {
    try withLiveLink { relay, agent, link, consumer in
      let longest = String(repeating: "x", count: WireLimits.text)
      // 64 KiB is more than a request may bring.
      for (bytes, status) in [(WireLimits.text + 1, "400"), (65_536, "413")] {
        let text = String(repeating: "x", count: bytes)
        let answer = try relay.get("/api/v1/finish", ["-d", "{\"reason\":\"\(text)\"}"])
        #expect(answer.hasSuffix("\n\(status)"), "\(answer)")
        #expect(try relay.ctl("finish", text).exitCode == 64)
      }
      #expect(try relay.get("/api/v1/status").contains("\"state\":\"live\""))
      var link = link
      for (round, reason) in ["", longest].enumerated() {
        if round == 0 {
          #expect(try relay.get("/api/v1/finish", ["-d", "{\"reason\":\"\"}"]).hasSuffix("\n200"))
        } else {
          #expect(try relay.ctl("finish", reason).exitCode == 0)
        }
        let said = reason.isEmpty ? "ended by the user" : reason
        try link.receive("finish") { try? Message($0) == .finish(said) ? () : nil }
        try consumer.receive("the end") { raw in
          try? Message(raw) == .finished(.finished, said) ? () : nil
        }
        shutdown(link.socket.raw, Int32(SHUT_RDWR))
        link = try agent.begin(instance: UInt64(round) + 2)
        try makeLive(link, consumer)
      }
    }
  }

  @Test("by the agent: no reason is none, a long one is whole, one beyond ends its link alone")
  func byAgent() throws {
    try withLiveLink { relay, agent, link, consumer in
      var link = link
      for (round, count) in [0, WireLimits.text].enumerated() {
        try link.send(end(ofBytes: count))
        shutdown(link.socket.raw, Int32(SHUT_WR))
        let text = String(repeating: "a", count: count)
        try consumer.receive("the end") { raw in
          try? Message(raw) == .finished(.finished, text) ? () : nil
        }
        link = try agent.begin(instance: UInt64(round) + 2)
        try makeLive(link, consumer)
      }
      for (round, count) in [WireLimits.text + 1, 65_535].enumerated() {
        try link.send(end(ofBytes: count))
        #expect(try consumer.receiveState(.interrupted).contains("invalid text"))
        #expect(try link.isCut(within: .seconds(5)))
        link = try agent.begin(instance: UInt64(round) + 4)
        try makeLive(link, consumer)
      }
      #expect(relay.process.exitCode == nil)
    }
  }
}
