import CUV

/// Calls back on the loop while a descriptor that somebody else owns is readable.
///
/// Close the poll before the descriptor.
final class LoopPoll: LoopHandle {
  private var action: (() -> Void)?

  init(_ descriptor: Int32, on loop: EventLoop) throws(UVError) {
    super.init(UV_POLL)
    try checkUV(unsafe uv_poll_init(loop.raw, raw(), descriptor), "uv_poll_init")
    adopt()
  }

  func start(_ action: @escaping () -> Void) {
    guard isOpen else { return }
    self.action = action
    _ = unsafe uv_poll_start(
      raw(), Int32(UV_READABLE.rawValue),
      { handle, _, _ in unsafe owner(of: handle, as: LoopPoll.self)?.action?() })
  }

  func stop() {
    guard isOpen else { return }
    _ = unsafe uv_poll_stop(raw())
  }

  override func released() { action = nil }
}
