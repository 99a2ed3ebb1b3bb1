import CMemoryGuard
import Posix
import Report

/// Ends the process with its last words and exit code 86 when memory runs out, in whatever library.
enum AllocationGuard {
  /// Memory kept back for the last steps of an ordinary end, once the limit has been met.
  static let reserveByteCount = 256 << 10

  /// Arms the guard for the rest of the process. `file` takes the last words, and nobody closes it.
  /// While there is one thread.
  static func arm(instance: UInt64, pid: UInt32, file: Int32) throws(PosixError) {
    let words = LastWords(
      pid: pid, instance: instance, code: ExitCode.memoryLimit.rawValue,
      text: "an allocation failed at the limit")
    let record = words.bytes
    let line = "capture-agent: ended by its memory limit\n"
    let result = unsafe record.withUnsafeBytes { record in
      unsafe porthole_guard_arm(
        reserveByteCount, line, file, record.baseAddress, record.count)
    }
    try check(result, "mmap of the reserve")
  }

  /// Whether an allocation has failed once and was helped by the reserve.
  static var hasShed: Bool { porthole_guard_has_shed() != 0 }

  /// Gives the kernel the reserve, and what the allocator holds and nobody uses.
  static func giveBack() {
    porthole_guard_give_reserve()
    trim()
  }

  /// Gives the kernel what the allocator holds and nobody uses.
  static func trim() { porthole_guard_trim() }

  /// Has a reserve again, where there is room.
  static func keepReserve() { _ = porthole_guard_keep_reserve() }

  /// How often the calling thread has asked for memory.
  static var threadAllocations: Int { Int(porthole_guard_thread_allocations()) }
}
