import Foundation
import Posix
import TestSupport
import Testing

@testable import HostRelay

@Suite struct WebTests {
  @Test("JSON of any text is read back as it was")
  func json() throws {
    let text = "\"quotes\" \\ \n\r\t\u{1} \u{7f} é 🙂 </script>"
    let json = JSONText.object([
      ("text", .text(text)), ("list", .list([.number(-3), .none, .truth(true), .decimal(1.5)])),
    ])
    let read = try JSONSerialization.jsonObject(with: Data(json.encoded.utf8)) as? [String: Any]
    #expect(read?["text"] as? String == text)
    #expect((read?["list"] as? [Any])?.count == 4)
    #expect(JSONText.decimal(.nan).encoded == "null")
  }

  @Test("a control request's JSON is read as Foundation writes it")
  func readJSON() throws {
    let written: [String: Any] = [
      "text": "\"q\" \\ / \n\r\t\u{1} é 🙂", "number": -12, "decimal": 1.5, "truth": true,
      "nothing": NSNull(),
    ]
    let bytes = [UInt8](try JSONSerialization.data(withJSONObject: written))
    let read = try JSONReader.object(bytes)
    #expect(
      JSONText.object(read.sorted { $0.key < $1.key }.map { ($0, $1) }).encoded
        == JSONText.object([
          ("decimal", .decimal(1.5)), ("nothing", .none), ("number", .number(-12)),
          ("text", .text("\"q\" \\ / \n\r\t\u{1} é 🙂")), ("truth", .truth(true)),
        ]).encoded)
    #expect(try JSONReader.object(Array(#" {"a" : "\u00e9\ud83d\ude42" } "#.utf8)).count == 1)
    #expect(try JSONReader.object(Array("{}".utf8)).isEmpty)
    guard case .list(let list) = try JSONReader.object(Array(#"{"a": [ 1, "b" ,null]}"#.utf8))["a"]
    else { throw JSONError(position: 0, expected: "a list") }
    #expect(list.map(\.encoded) == ["1", "\"b\"", "null"])
  }

  @Test(
    "what is no plain JSON object is refused",
    arguments: [
      "", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}x", "{\"a\":nan}",
      "{\"a\":[[1]]}", "{\"a\":[1,]}", "{\"a\":[1}", "{\"a\":[", "{\"a\":{}}", "{\"a\":[{}]}",
      "{\"a\":\"\\ud83d\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}",
      "{\"a\":1e999}",
      "{\"a\":0x10}", "{a:1}",
    ])
  func refusedJSON(text: String) {
    #expect(throws: JSONError.self) { try JSONReader.object(Array(text.utf8)) }
  }

  @Test("mutated JSON is read or refused, and never traps")
  func mutatedJSON() {
    let seed = Array(#"{"reason":"\u00e9\n🙂","bits_per_second":6000000,"x":null}"#.utf8)
    var numbers = SplitMix(seed: 5)
    for _ in 0..<20_000 {
      var bytes = seed
      for _ in 0...numbers.below(3) {
        bytes[numbers.below(bytes.count)] = UInt8(numbers.below(256))
      }
      _ = try? JSONReader.object(Array(bytes.prefix(numbers.below(bytes.count + 1))))
    }
  }

  @Test("a host is ours by its exact name, with our port or none")
  func hosts() throws {
    let address = try #require(SocketAddress("127.0.0.1:13581"))
    let names = HostNames(address: address, extra: ["Studio.local"])
    for host in [
      "127.0.0.1", "127.0.0.1:13581", "localhost", "LOCALHOST:13581", "[::1]:13581",
      "studio.local:13581",
    ] { #expect(names.contains(host), "\(host)") }
    for host in [
      "", "evil.com", "127.0.0.1.evil.com", "localhost:80", "127.0.0.1:13581:1", "0.0.0.0:13581",
    ] { #expect(!names.contains(host), "\(host)") }
    #expect(names.containsOrigin("http://localhost:13581"))
    #expect(!names.containsOrigin("https://evil.com"))
    #expect(!names.containsOrigin("null"))
  }

  @Test("on a wildcard the machine's addresses are names of ours, and the wildcard is none")
  func wildcard() throws {
    for text in ["0.0.0.0:13581", "[::]:13581"] {
      let address = try #require(SocketAddress(text))
      let names = HostNames(address: address, extra: [])
      #expect(!names.contains(text))
      let reached = LocalAddresses.reaching(address)
      #expect(reached.first?.description == "127.0.0.1:13581")
      for own in reached { #expect(names.contains("\(own)") && names.contains(own.urlHost)) }
      #expect(names.contains("\(LocalAddresses.hostName):13581"))
    }
  }

  @Test("a viewer key needs no escape and is long enough")
  func viewerKey() throws {
    #expect(AccessKey("1234567") == nil)
    #expect(AccessKey("12345678")?.text == "12345678")
    #expect(AccessKey("1234567&") == nil)
    #expect(AccessKey(String(repeating: "a", count: 65)) == nil)
    let made = AccessKey(LinkToken(bytes: [UInt8](0..<32)))
    #expect(made.text == "000102030405060708090a0b0c0d0e0f")
    #expect(made.matches(Array(made.text.utf8)))
    #expect(!made.matches([]))
  }

  @Test("a stranger watches with the key only")
  func visitors() throws {
    let key = try #require(AccessKey("12345678"))
    #expect(Visitor.ourUser.may(showing: [], wanted: key))
    #expect(!Visitor.stranger.may(showing: [], wanted: key))
    #expect(!Visitor.stranger.may(showing: Array("12345679".utf8), wanted: key))
    #expect(Visitor.stranger.may(showing: Array("12345678".utf8), wanted: key))
  }

  @Test("64 connections may wait to be heard, of one address off loopback 5")
  func antechamber() throws {
    final class Connection {}
    var antechamber = Antechamber(limitOfAddress: RelayLimits.ungreetedOfAddress)
    let now = Moment.now
    let far = try #require(SocketAddress("192.0.2.1:1"))
    let near = try #require(SocketAddress("127.0.0.1:1"))
    let connections = (0..<RelayLimits.ungreeted).map { _ in Connection() }
    for (index, connection) in connections.enumerated() {
      #expect(!antechamber.isFull)
      #expect(antechamber.admits(far) == (index < RelayLimits.ungreetedOfAddress))
      #expect(antechamber.admits(near))
      antechamber.enter(ObjectIdentifier(connection), from: far, now: now)
    }
    #expect(antechamber.isFull)
    #expect(antechamber.overdue(now: now + .milliseconds(4999)).isEmpty)
    #expect(antechamber.overdue(now: now + .seconds(5)).count == RelayLimits.ungreeted)
    antechamber.leave(ObjectIdentifier(connections[0]))
    #expect(!antechamber.isFull)
  }
}
