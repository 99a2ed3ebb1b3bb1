import Wire

/// Why nothing is sent for now: a set of reasons, each begun and ended by whoever has it. Loop thread only.
final class Pause {
  private(set) var reasons: PauseReasons = []
  /// Nothing is sent while it is not known whether there is a reason, and nothing is told of that.
  private(set) var isUndecided = false
  private let changed: () -> Void

  /// `changed` is called after each change.
  init(changed: @escaping () -> Void) { self.changed = changed }

  var isOn: Bool { isUndecided || !reasons.isEmpty }

  /// A reason may be found to hold.
  func wait() {
    isUndecided = true
    changed()
  }

  /// What holds has been begun.
  func decide() {
    guard isUndecided else { return }
    isUndecided = false
    if reasons.isEmpty { changed() }
  }

  /// One that holds already changes nothing.
  func begin(_ more: PauseReasons) { set(reasons.union(more)) }

  /// One that does not hold changes nothing; the others go on holding.
  func end(_ fewer: PauseReasons) { set(reasons.subtracting(fewer)) }

  /// As whoever controls the broadcast wants it.
  func endAll() {
    decide()
    set([])
  }

  private func set(_ wanted: PauseReasons) {
    guard wanted != reasons else { return }
    reasons = wanted
    changed()
  }
}
