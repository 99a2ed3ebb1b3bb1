import Wire

/// Why nothing is sent for now: a set of reasons, each begun and ended by whoever has it. Loop thread only.
final class Pause {
  private(set) var reasons: PauseReasons = []
  /// Nothing is sent while it is not known whether these hold, and nothing is told of that.
  private var undecided: PauseReasons = []
  private let changed: () -> Void

  /// `changed` is called after each change.
  init(changed: @escaping () -> Void) { self.changed = changed }

  var isOn: Bool { !undecided.isEmpty || !reasons.isEmpty }

  /// This reason may be found to hold.
  func wait(for reason: PauseReasons) {
    undecided.formUnion(reason)
    if reasons.isEmpty { changed() }
  }

  /// Whether it holds has been said.
  func decide(_ reason: PauseReasons) {
    guard !undecided.isDisjoint(with: reason) else { return }
    undecided.subtract(reason)
    if reasons.isEmpty { changed() }
  }

  /// One that holds already changes nothing.
  func begin(_ more: PauseReasons) { set(reasons.union(more)) }

  /// One that does not hold changes nothing; the others go on holding.
  func end(_ fewer: PauseReasons) { set(reasons.subtracting(fewer)) }

  /// As whoever controls the broadcast wants it.
  func endAll() {
    decide(undecided)
    set([])
  }

  private func set(_ wanted: PauseReasons) {
    guard wanted != reasons else { return }
    reasons = wanted
    changed()
  }
}
