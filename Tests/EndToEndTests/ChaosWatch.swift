import TestSupport
import Testing

/// A consumer of 13580 that holds each packet's PTS against the one before, whatever relay it is
/// connected to.
final class Watcher {
  var peer: ScriptedPeer
  private(set) var lastPTS: Int64

  init(_ peer: ScriptedPeer, lastPTS: Int64 = .min) {
    self.peer = peer
    self.lastPTS = lastPTS
  }

  /// Reads until a packet is newer than `time`.
  func watch(after time: Int64) throws {
    try peer.receive("a new picture") { raw -> Void? in
      guard raw.header.kind == .packet else { return nil }
      #expect(raw.header.pts > lastPTS, "PTS went back")
      lastPTS = raw.header.pts
      return lastPTS > time ? () : nil
    }
  }
}

/// A relay's private memory, round for round; it begins anew with each relay.
struct MemoryWatch {
  private var lives: [[Int]] = [[]]

  mutating func beginAnew() { lives.append([]) }

  mutating func note(_ footprint: ProcessFootprint) {
    lives[lives.count - 1].append(footprint.privateKB)
  }

  /// Every relay stands where all of them stand, and one that has been there for long grows no more:
  /// its first rounds bring its tables to their size.
  func expectNoGrowth(warmUp: Int = 10) {
    let all = lives.flatMap { $0 }.sorted()
    let (median, most) = (all[all.count / 2], all[all.count - 1])
    print(
      "private memory of \(lives.count) relays in \(all.count) rounds: median \(median) kB,"
        + " \(all[0]) to \(most) kB")
    #expect(most - median < 512)
    guard let longest = lives.max(by: { $0.count < $1.count }), longest.count > 2 * warmUp else {
      return
    }
    let rounds = longest.count - warmUp
    let growth = longest[longest.count - 1] - longest[warmUp]
    print(
      "the longest was there for \(longest.count), and grew by \(growth) kB in the last \(rounds)")
    #expect(growth < 100 + rounds / 10)
  }
}
