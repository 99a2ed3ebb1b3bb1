import CPipeWire

/// The memory that a listener of libpipewire needs for as long as it listens. Loop thread only.
@safe
final class Listener<Events> {
  let events: UnsafeMutablePointer<Events>
  let hook: UnsafeMutablePointer<spa_hook>

  init(_ events: Events) {
    unsafe self.events = .allocate(capacity: 1)
    unsafe self.events.initialize(to: events)
    unsafe hook = .allocate(capacity: 1)
    unsafe hook.initialize(to: spa_hook())
  }

  /// Stops listening; the object listened to must still be there.
  deinit {
    unsafe spa_hook_remove(hook)
    unsafe hook.deallocate()
    unsafe events.deallocate()
  }
}
