import CUV

/// Work that may block, such as a disk's: done on one of libuv's four threads, beside the loop.
enum BackgroundWork {
  /// Runs `work` on such a thread, then `done` on the loop's. A loop that ends waits for it.
  static func run<Result: Sendable>(
    on loop: EventLoop, _ work: @escaping @Sendable () -> Result,
    done: @escaping (Result) -> Void
  ) {
    let job = Job(work) { result in
      if let result = result as? Result { done(result) }
    }
    let request = UnsafeMutablePointer<uv_work_t>.allocate(capacity: 1)
    unsafe request.initialize(to: uv_work_t())
    unsafe request.pointee.data = Unmanaged.passRetained(job).toOpaque()
    // It fails for want of a callback alone (libuv's threadpool.c).
    _ = unsafe uv_queue_work(
      loop.raw, request,
      { request in
        guard let data = unsafe request?.pointee.data else { return }
        unsafe Unmanaged<Job>.fromOpaque(data).takeUnretainedValue().work()
      },
      { request, _ in
        guard let request = unsafe request, let data = unsafe request.pointee.data else { return }
        let job = unsafe Unmanaged<Job>.fromOpaque(data).takeRetainedValue()
        unsafe request.deallocate()
        job.finish()
      })
  }
}

/// One piece of work. First the thread has it, then the loop; libuv orders the two.
private final class Job {
  private let body: @Sendable () -> any Sendable
  private let done: (any Sendable) -> Void
  private var result: (any Sendable)?

  init(_ body: @escaping @Sendable () -> any Sendable, done: @escaping (any Sendable) -> Void) {
    self.body = body
    self.done = done
  }

  func work() { result = body() }

  func finish() {
    if let result { done(result) }
  }
}
