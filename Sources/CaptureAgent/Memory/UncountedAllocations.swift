import Synchronization

/// Calls of malloc on the loop's thread that are made for no picture: once a second, and for D-Bus.
enum UncountedAllocations {
  private static let total = Atomic(0)

  static var count: Int { total.load(ordering: .relaxed) }

  static func during(_ body: () -> Void) {
    let before = AllocationGuard.threadAllocations
    body()
    total.add(AllocationGuard.threadAllocations - before, ordering: .relaxed)
  }
}
