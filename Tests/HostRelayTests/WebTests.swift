import Foundation
import Posix
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

  @Test("the page's line for ffplay does not throw its first keyframe away")
  func playerLine() {
    let page = ViewerPage(
      host: "localhost", key: [], consumers: "", state: "live", detail: "")
    #expect(page.html.contains("ffplay -flags low_delay"))
    #expect(!page.html.contains("nobuffer"))
  }

  @Test("a viewer key needs no escape and is long enough")
  func viewerKey() throws {
    #expect(ViewerKey("1234567") == nil)
    #expect(ViewerKey("12345678")?.text == "12345678")
    #expect(ViewerKey("1234567&") == nil)
    #expect(ViewerKey(String(repeating: "a", count: 65)) == nil)
    let made = ViewerKey(LinkToken(bytes: [UInt8](0..<32)))
    #expect(made.text == "000102030405060708090a0b0c0d0e0f")
    #expect(made.matches(Array(made.text.utf8)))
    #expect(!made.matches([]))
  }

  @Test("a stranger watches with the key only")
  func visitors() throws {
    let key = try #require(ViewerKey("12345678"))
    #expect(Visitor.ourUser.mayWatch(showing: [], viewerKey: key))
    #expect(!Visitor.stranger.mayWatch(showing: [], viewerKey: key))
    #expect(!Visitor.stranger.mayWatch(showing: Array("12345679".utf8), viewerKey: key))
    #expect(Visitor.stranger.mayWatch(showing: Array("12345678".utf8), viewerKey: key))
  }

  @Test("64 connections may wait to be heard, of one address off loopback 5")
  func antechamber() throws {
    final class Connection {}
    var antechamber = Antechamber()
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
