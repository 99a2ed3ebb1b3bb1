/// The objects of one kind that a client holds by id.
///
///     | kind: 4 bits | generation: 12 bits | slot: 16 bits |
///
/// The generation makes an id that was given back stay unknown when its slot is used again.
struct ObjectTable<Object: AnyObject> {
  private struct Slot {
    var object: Object?
    var generation: UInt32
  }

  private let kind: UInt32
  private var slots: [Slot] = []
  private var free: [Int] = []

  /// `kind` from 0 to 15, one for each table.
  init(kind: UInt32) { self.kind = kind << 28 }

  /// The id of the new entry, or nil when all 65,536 slots are taken.
  mutating func insert(_ object: Object) -> UInt32? {
    if let slot = free.popLast() {
      slots[slot].object = object
      return id(of: slot)
    }
    guard slots.count < 1 << 16 else { return nil }
    slots.append(Slot(object: object, generation: 1))
    free.reserveCapacity(slots.count)
    return id(of: slots.count - 1)
  }

  /// nil for an id that was never given out, or is given back.
  subscript(id: UInt32) -> Object? {
    guard let slot = slot(of: id) else { return nil }
    return slots[slot].object
  }

  /// Takes an entry out; nil as above.
  mutating func remove(_ id: UInt32) -> Object? {
    guard let slot = slot(of: id) else { return nil }
    let object = slots[slot].object
    slots[slot].object = nil
    slots[slot].generation = (slots[slot].generation + 1) & 0xfff
    free.append(slot)
    return object
  }

  var count: Int { slots.count - free.count }

  func contains(where isWanted: (Object) -> Bool) -> Bool {
    slots.contains { $0.object.map(isWanted) ?? false }
  }

  private func id(of slot: Int) -> UInt32 {
    kind | slots[slot].generation << 16 | UInt32(slot)
  }

  private func slot(of id: UInt32) -> Int? {
    let slot = Int(id & 0xffff)
    guard slot < slots.count, self.id(of: slot) == id, slots[slot].object != nil else { return nil }
    return slot
  }
}
