/// The damage since the last picture that was taken, those passed over included.
enum CarriedDamage {
  case none
  case part(Rectangle)
  case whole

  /// Adds a picture's damage; nil says anything may have changed.
  mutating func add(_ damage: Rectangle?) {
    switch (self, damage) {
    case (.whole, _), (_, nil): self = .whole
    case (.none, let damage?): self = .part(damage)
    case (.part(let carried), let damage?): self = .part(carried.union(damage))
    }
  }

  /// Gives what was carried, as a picture's damage, and begins anew.
  mutating func take() -> Rectangle? {
    defer { self = .none }
    if case .part(let damage) = self { return damage }
    return nil
  }
}
