import CUV
import Glibc

/// How a child ended: by an exit code, or by a signal when `signal` is not 0.
struct ChildEnd: Equatable, Sendable {
  let code: Int32
  let signal: Int32
}

/// A child in a session of its own: it outlives this process and takes no terminal signals.
final class ChildProcess: LoopHandle {
  private var ended: ((ChildEnd) -> Void)?

  /// Starts `words[0]`, looked up in PATH, with `words` as its arguments. `descriptors` are those of
  /// ours that the child has as 0, 1, 2 and so on, and no others; nil: an empty one.
  init(
    _ words: [String], descriptors: [Int32?] = [nil, STDOUT_FILENO, STDERR_FILENO],
    on loop: EventLoop, ended: @escaping (ChildEnd) -> Void
  ) throws(UVError) {
    self.ended = ended
    super.init(UV_PROCESS)
    let status = unsafe spawn(words, descriptors, loop: loop.raw, process: raw())
    // After a failed uv_spawn the handle is initialised all the same and must be closed.
    adopt()
    if status < 0 {
      close()
      throw UVError(call: "uv_spawn", code: status)
    }
  }

  var pid: Int32 { unsafe uv_process_get_pid(raw()) }

  /// Sends a signal to the child, which is not reaped yet, so the pid is its own.
  func send(_ signal: Int32) {
    guard isOpen else { return }
    _ = unsafe uv_process_kill(raw(), signal)
  }

  fileprivate func exited(_ end: ChildEnd) {
    let ended = ended
    self.ended = nil
    ended?(end)
    close()
  }

  override func released() { ended = nil }
}

private func spawn(
  _ words: [String], _ descriptors: [Int32?], loop: UnsafeMutablePointer<uv_loop_t>,
  process: UnsafeMutablePointer<uv_process_t>
) -> Int32 {
  var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
  unsafe arguments.append(nil)
  defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }

  var given = unsafe [uv_stdio_container_t](
    repeating: uv_stdio_container_t(), count: descriptors.count)
  for (number, descriptor) in descriptors.enumerated() {
    unsafe given[number].flags = descriptor == nil ? UV_IGNORE : UV_INHERIT_FD
    if let descriptor { unsafe given[number].data.fd = descriptor }
  }
  var options = unsafe uv_process_options_t()
  unsafe options.flags = UV_PROCESS_DETACHED.rawValue
  unsafe options.exit_cb = { process, code, signal in
    unsafe owner(of: process, as: ChildProcess.self)?
      .exited(ChildEnd(code: Int32(truncatingIfNeeded: code), signal: signal))
  }
  return unsafe arguments.withUnsafeMutableBufferPointer { arguments in
    unsafe given.withUnsafeMutableBufferPointer { given in
      unsafe options.file = UnsafePointer(arguments[0])
      unsafe options.args = arguments.baseAddress
      unsafe options.stdio_count = Int32(given.count)
      unsafe options.stdio = given.baseAddress
      return unsafe uv_spawn(loop, process, &options)
    }
  }
}
