import TestSupport
import Testing

@testable import Wire

@Suite struct ProtocolDocumentTests {
  @Test("the protocol's page names each kind of message by its number")
  func kinds() throws {
    let rows = try Document("protocol.md").numberedRows
    for kind in MessageKind.allCases {
      #expect(rows[Int(kind.rawValue)]?[1] == "\(kind)")
    }
    #expect(rows.count == MessageKind.allCases.count)
  }

  @Test("the protocol's page states the limits that hold")
  func limits() throws {
    let text = try Document("protocol.md").text
    for row in [
      "| payload of a message | \(WireLimits.payload) bytes |",
      "| payload before the greeting is accepted | \(WireLimits.greetingPayload) bytes |",
      "| text | \(WireLimits.text) bytes |",
      "| parameter sets | \(WireLimits.parameterSets) bytes |",
      "| greeting | \(WireLimits.greetingTime.components.seconds) seconds |",
      "| nothing sent | \(WireLimits.heartbeatInterval.components.seconds) second |",
      "| silence | \(WireLimits.stalledAfter.components.seconds) seconds |",
      "| silence | \(WireLimits.silentAfter.components.seconds) seconds |",
    ] { #expect(text.contains(row), "\(row)") }
  }
}
