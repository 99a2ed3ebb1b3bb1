import CUV

/// Calls back on the loop once, or again and again. Granularity is one millisecond.
final class LoopTimer: LoopHandle {
  private var action: (() -> Void)?

  init(on loop: EventLoop) throws(UVError) {
    super.init(UV_TIMER)
    try checkUV(unsafe uv_timer_init(loop.raw, raw()), "uv_timer_init")
    adopt()
  }

  /// Arms the timer anew, replacing what was armed before.
  func start(
    after delay: Duration, every interval: Duration = .zero, _ action: @escaping () -> Void
  ) {
    guard isOpen else { return }
    self.action = action
    _ = unsafe uv_timer_start(
      raw(), { unsafe owner(of: $0, as: LoopTimer.self)?.action?() },
      delay.milliseconds, interval.milliseconds)
  }

  func stop() {
    guard isOpen else { return }
    _ = unsafe uv_timer_stop(raw())
  }

  /// Lets the loop end although this timer is armed.
  func unreference() {
    guard isOpen else { return }
    unsafe uv_unref(base)
  }

  override func released() { action = nil }
}

extension Duration {
  /// Whole milliseconds, rounded up, so that a timer never fires early.
  fileprivate var milliseconds: UInt64 {
    let (seconds, attoseconds) = components
    return UInt64(max(0, seconds)) * 1000
      + UInt64((max(0, attoseconds) + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
