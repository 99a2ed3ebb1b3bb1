/// How a sound of a broadcast stands, or its camera, or its screen.
package enum SourceState: UInt8, CaseIterable, Sendable {
  /// Not wanted, or there was none of it yet.
  case off = 0
  /// Samples come, be they silence; of a camera or a screen, whole pictures.
  case on = 1
  /// Wanted, and none come.
  case lost = 2

  /// The name in logs and in the status.
  package var word: String { "\(self)" }
}
