import CUV
import Glibc

/// libuv's loop. One thread runs it and owns all that is reached from it, so nothing is locked.
@safe final class EventLoop {
  let raw: UnsafeMutablePointer<uv_loop_t>
  /// Where every stream reads into: what is read is dealt with before anything else is read. A buffer
  /// for each would spread the streams over so much memory that finding them takes longer.
  let input: UnsafeMutableBufferPointer<UInt8>

  init() throws(UVError) {
    unsafe input = .allocate(capacity: 256 << 10)
    unsafe raw = .allocate(capacity: 1)
    try checkUV(unsafe uv_loop_init(raw), "uv_loop_init")
  }

  /// Runs until no handle is active, which is true, or until `stop`.
  func run() -> Bool {
    unsafe uv_run(raw, UV_RUN_DEFAULT) == 0
  }

  /// Makes `run` return although handles are open.
  func stop() { unsafe uv_stop(raw) }

  /// Gives the loop back; throws when a handle is still open, which is a bug of its owner.
  func close() throws(UVError) {
    try checkUV(unsafe uv_loop_close(raw), "uv_loop_close")
  }

  deinit {
    unsafe raw.deallocate()
    unsafe input.deallocate()
  }
}

/// What every libuv handle shares: memory that does not move, and a close that ends later.
///
/// The handle keeps itself alive from `adopt` until libuv has closed it, so that no callback can
/// meet a freed object. All calls on the loop's thread.
@safe class LoopHandle {
  let base: UnsafeMutablePointer<uv_handle_t>
  private(set) var isOpen = false
  private var whenClosed: (() -> Void)?

  init(_ type: uv_handle_type) {
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: uv_handle_size(type), alignment: 16)
    unsafe base = memory.assumingMemoryBound(to: uv_handle_t.self)
  }

  /// The handle as libuv's own type `T`, which is what `init` was told.
  func raw<T>(_ type: T.Type = T.self) -> UnsafeMutablePointer<T> {
    unsafe UnsafeMutableRawPointer(base).assumingMemoryBound(to: type)
  }

  /// Called once after libuv's `init` of this handle has succeeded.
  func adopt() {
    unsafe base.pointee.data = Unmanaged.passRetained(self).toOpaque()
    isOpen = true
  }

  /// Asks libuv to close; `then` runs when it has. Further calls do nothing.
  func close(then: (() -> Void)? = nil) {
    guard isOpen else { return }
    isOpen = false
    whenClosed = then
    unsafe uv_close(base) { handle in
      guard let data = unsafe handle?.pointee.data else { return }
      let owner = unsafe Unmanaged<LoopHandle>.fromOpaque(data).takeRetainedValue()
      owner.whenClosed?()
      owner.whenClosed = nil
      owner.released()
    }
  }

  /// Drops the closures a subclass keeps, so that no cycle outlives the handle.
  func released() {}

  deinit {
    unsafe UnsafeMutableRawPointer(base).deallocate()
  }
}

/// The Swift object behind a handle that libuv hands to a callback.
func owner<Raw, Owner: LoopHandle>(
  of handle: UnsafeMutablePointer<Raw>?, as type: Owner.Type = Owner.self
) -> Owner? {
  guard let handle = unsafe handle else { return nil }
  let base = unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
  guard let data = unsafe base.pointee.data else { return nil }
  return unsafe Unmanaged<LoopHandle>.fromOpaque(data).takeUnretainedValue() as? Owner
}
