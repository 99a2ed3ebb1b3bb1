import CommandOptions
import Foundation
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

@Suite struct RelayDocumentTests {
  @Test("the relay's page states each policy with the number that holds")
  func policies() throws {
    let text = try Document("relay.md").text
    let limits = RelayLimits.self
    let delays = limits.retryDelays.map(seconds).joined(separator: ", ")
    let jitter = Int(limits.retryJitter * 100)
    for row in [
      "| heartbeat | \(seconds(WireLimits.heartbeatInterval)) s after",
      "| agent stalled | \(seconds(WireLimits.stalledAfter)) s silent |",
      "| agent given up | \(seconds(WireLimits.silentAfter)) s silent |",
      "| session held | \(try Options.table.parse([])["hold"] ?? "") s (`--hold`",
      "| reconnect, respawn | after \(delays) s, and \(seconds(limits.retryDelays.last)) s for ever,"
        + " ±\(jitter) % |",
      "| port held by a stranger | \(seconds(limits.strangerPatience)) s after the start,",
      "| agent sound | \(seconds(limits.soundAfter)) s after",
      "| crash loop | \(limits.crashLoopDeaths) deaths in \(seconds(limits.crashLoopSpan)) s |"
        + " said in the status and to viewers; starts lie \(seconds(limits.crashLoopDelay)) s apart |",
      "| last words of a unit | \(seconds(limits.lastWordsPatience)) s after",
      "| kept alive | each \(seconds(limits.keepAliveInterval)) s while",
      "| cache for who joins late | \(seconds(limits.cacheSpan)) s, \(limits.cacheBytes) bytes,"
        + " \(limits.cachePackets) packets |",
      "| fresh keyframe | \(seconds(limits.freshKeyframe)) s old |",
      "| joiner's patience | \(seconds(limits.joinerPatience)) s |",
      "| keyframe requests passed on | \(seconds(limits.keyframeRequestInterval)) s apart |",
      "| reader behind, soft | \(seconds(limits.softDelay)) s |",
      "| reader behind, hard | \(seconds(limits.hardDelay)) s or \(limits.hardBytes) bytes |",
      "| messages that wait | \(limits.waitingMessages) |",
      "| reader takes nothing | \(seconds(limits.stuckAfter)) s, looked at each"
        + " \(seconds(limits.readerTick)) s |",
      "| what slow readers lost | each \(seconds(limits.dropLogInterval)) s at most |",
      "| unsent bytes in the kernel | \(limits.notSentBytes) bytes |",
      "| unacknowledged | \(seconds(limits.userTimeout)) s, off loopback |",
      "| consumers | \(limits.consumers) a port |", "has \(limits.reservedPlaces) places more",
      "| not yet heard | \(limits.ungreeted) a port, \(limits.ungreetedOfAddress) an address off"
        + " loopback (HTTP: \(limits.ungreetedOfBrowser), since a browser opens six at once),"
        + " \(seconds(WireLimits.greetingTime)) s each |",
      "| a still picture | \(seconds(limits.snapshotTime)) s, \(limits.snapshotBytes) bytes |",
      "| push that reads nothing | \(seconds(limits.childStuckAfter)) s |",
      "| push tried again | after \(limits.pushRetryDelays.map(seconds).joined(separator: ", ")) s,"
        + " and \(seconds(limits.pushRetryDelays.last)) s for ever, ±\(jitter) % |"
        + " from \(seconds(limits.pushRetryDelays.first)) s again once it was live for"
        + " \(seconds(limits.pushSoundAfter)) s |",
      "| keyframes of a push, of a recording | each \(seconds(limits.pushKeyframeInterval)) s, each"
        + " \(seconds(limits.recordingKeyframeInterval)) s |",
      "| tickets for recordings | \(limits.tickets), for \(seconds(limits.ticketTime)) s each |",
      "| backlog | \(limits.backlog) connections |",
      "from \(limits.bitrates.lowerBound) to \(limits.bitrates.upperBound) |",
      "| a head of more than \(RequestHead.limit) bytes | 431 |",
      "| one that is not whole after \(seconds(WireLimits.greetingTime)) s | 408;",
      "| a body of more than \(limits.requestBody) bytes,",
      "at most \(limits.requestBody) bytes.", "up to \(limits.setupPushes) addresses",
      "`fps` | frames a second, \(Setup.frameRates.lowerBound) to \(Setup.frameRates.upperBound) |",
      "| bits a second, \(Setup.bitrates.lowerBound) to \(Setup.bitrates.upperBound) |",
    ] { #expect(text.contains(row), "\(row)") }
  }

  @Test("the relay's page names every member of the status, and no other")
  func status() throws {
    let text = try Document("relay.md").text
    let section = text.components(separatedBy: "\n## ").first { $0.hasPrefix("Status\n") } ?? ""
    let named = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
      .flatMap { row in
        row.split(separator: "|")[0].split(separator: "`").enumerated()
          .compactMap { $0.offset.isMultiple(of: 2) ? nil : String($0.element) }
      }
    try withRelay { relay, _, _ in
      let line = try #require(relay.get("/api/v1/status").split(separator: "\n").first)
      let json = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let status = try #require(json as? [String: Any])
      #expect(named.sorted() == status.keys.sorted())
      let readers = try #require(status["readers"] as? [String: Any])
      for name in readers.keys { #expect(section.contains("`\(name)`"), "\(name)") }
    }
  }

  /// Seconds as the page writes them.
  private func seconds(_ duration: Duration?) -> String {
    let milliseconds = (duration ?? .zero).nanoseconds / 1_000_000
    return milliseconds.isMultiple(of: 1000)
      ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
  }
}
