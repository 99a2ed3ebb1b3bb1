import CUV

/// Calls back on the loop while a descriptor that somebody else owns is readable, or writable.
///
/// Close the poll before the descriptor.
final class LoopPoll: LoopHandle {
  enum Event {
    case readable
    case writable
  }

  private var action: (() -> Void)?

  init(_ descriptor: Int32, on loop: EventLoop) throws(UVError) {
    super.init(UV_POLL)
    try checkUV(unsafe uv_poll_init(loop.raw, raw(), descriptor), "uv_poll_init")
    adopt()
  }

  func start(_ event: Event = .readable, _ action: @escaping () -> Void) {
    guard isOpen else { return }
    self.action = action
    let events = event == .readable ? UV_READABLE : UV_WRITABLE
    _ = unsafe uv_poll_start(
      raw(), Int32(events.rawValue),
      { handle, _, _ in unsafe owner(of: handle, as: LoopPoll.self)?.action?() })
  }

  func stop() {
    guard isOpen else { return }
    _ = unsafe uv_poll_stop(raw())
  }

  override func released() { action = nil }
}
