internal import CLinux
internal import Glibc

/// A thread with a small stack, made once and joined once.
@safe
package final class WorkerThread {
  private var thread = pthread_t()
  private var isJoined = false

  /// Starts `body` on a thread called `name` (15 bytes at most) with 256 KiB of stack. Throws when
  /// the thread cannot be made, as under an address limit.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(PosixError) {
    // By a pointer: two modules of the toolchain declare this type's initializer, and which one is
    // seen depends on the order of files.
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    unsafe pthread_attr_init(attributes)
    unsafe pthread_attr_setstacksize(attributes, 256 << 10)
    defer {
      unsafe pthread_attr_destroy(attributes)
      unsafe attributes.deallocate()
    }
    let box = unsafe Unmanaged.passRetained(Body(name: name, run: body))
    let result = unsafe pthread_create(&thread, attributes, Self.enter, box.toOpaque())
    guard result == 0 else {
      unsafe box.release()
      throw PosixError("pthread_create", code: result)
    }
  }

  /// Waits for the body's end; once.
  package func join() {
    precondition(!isJoined, "a thread is joined once")
    isJoined = true
    pthread_join(thread, nil)
  }

  private final class Body {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private static let enter: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
    { context in
      let body = unsafe Unmanaged<Body>.fromOpaque(context!).takeRetainedValue()
      unsafe pthread_setname_np(pthread_self(), body.name)
      body.run()
      return nil
    }
}
