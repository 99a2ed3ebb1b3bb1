import Wire

/// Why nothing is sent for now: a set of reasons, each begun and ended by whoever has it. Loop thread only.
final class Pause {
  private(set) var reasons: PauseReasons = []
  /// Nothing is sent while it is not known whether these hold, and nothing is told of that.
  private var undecided: PauseReasons = []
  private let changed: () -> Void
  private var isTold = false

  /// What is told of a change.
  enum News {
    case paused(PauseReasons)
    case resumed
  }

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

  /// What is to be told of how it stands; nil: nothing.
  func news() -> News? {
    if !reasons.isEmpty {
      isTold = true
      return .paused(reasons)
    }
    guard !isOn, isTold else { return nil }
    isTold = false
    return .resumed
  }

  private func set(_ wanted: PauseReasons) {
    guard wanted != reasons else { return }
    reasons = wanted
    changed()
  }
}
