import Wire

/// Why nothing is sent for now: a set of reasons, each begun and ended by whoever has it. Nothing is sent
/// while there is one. Loop thread only.
final class Pause {
  private(set) var reasons: PauseReasons = []
  private let changed: () -> Void

  /// `changed` is called after each change of the reasons.
  init(changed: @escaping () -> Void) { self.changed = changed }

  var isOn: Bool { !reasons.isEmpty }

  /// One that holds already changes nothing.
  func begin(_ more: PauseReasons) { set(reasons.union(more)) }

  /// One that does not hold changes nothing; the others go on holding.
  func end(_ fewer: PauseReasons) { set(reasons.subtracting(fewer)) }

  /// As whoever controls the broadcast wants it.
  func endAll() { set([]) }

  private func set(_ wanted: PauseReasons) {
    guard wanted != reasons else { return }
    reasons = wanted
    changed()
  }
}
