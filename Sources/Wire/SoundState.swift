/// How one sound of a broadcast stands.
package enum SoundState: UInt8, CaseIterable, Sendable {
  /// Not wanted, or there was none of it yet.
  case off = 0
  /// Samples come, be they silence.
  case on = 1
  /// Wanted, and none come.
  case lost = 2

  /// The name in logs and in the status.
  package var word: String { "\(self)" }
}
