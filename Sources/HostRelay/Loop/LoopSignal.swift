import CUV

/// Calls back on the loop when the process gets a signal.
final class LoopSignal: LoopHandle {
  private var action: (() -> Void)?

  init(_ number: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(UVError) {
    self.action = action
    super.init(UV_SIGNAL)
    try checkUV(unsafe uv_signal_init(loop.raw, raw()), "uv_signal_init")
    adopt()
    try checkUV(
      unsafe uv_signal_start(
        raw(), { handle, _ in unsafe owner(of: handle, as: LoopSignal.self)?.action?() }, number),
      "uv_signal_start")
  }

  override func released() { action = nil }
}
