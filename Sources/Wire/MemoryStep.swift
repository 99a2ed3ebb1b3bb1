/// How far an agent has gone in giving things up because memory is scarce; each step holds what the
/// ones before it gave up.
package enum MemoryStep: UInt8, CaseIterable, Comparable, Sendable {
  /// Nothing is given up.
  case rest = 0
  /// Keyframes on demand alone, no repeated pictures, one packet on its way.
  case queues = 1
  /// Half the frames, half the bits.
  case rate = 2
  /// Reserve and caches are given back, and pictures are half as wide and high.
  case picture = 3
  /// The broadcast ends.
  case end = 4

  package static func < (one: MemoryStep, other: MemoryStep) -> Bool {
    one.rawValue < other.rawValue
  }

  /// The name in logs and in the status.
  package var word: String { "\(self)" }
}
