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

  /// Every relay ends where all of them stand, and none grows from round to round. Its first rounds
  /// bring a relay's tables to their size.
  func expectNoGrowth(warmUp: Int = 2) {
    let all = lives.flatMap { $0 }.sorted()
    let steps = lives.flatMap { life in
      zip(life.dropFirst(warmUp), life.dropFirst(warmUp + 1)).map { $1 - $0 }
    }
    let slope = Double(steps.reduce(0, +)) / Double(max(1, steps.count))
    print(
      "private memory of \(lives.count) relays in \(all.count) rounds: median"
        + " \(all[all.count / 2]) kB, \(all[0]) to \(all[all.count - 1]);"
        + " \(slope) kB a round over \(steps.count) rounds")
    #expect(all[all.count - 1] - all[all.count / 2] < 1024)
    #expect(slope < (steps.count < 100 ? 100 : 1))
  }
}
