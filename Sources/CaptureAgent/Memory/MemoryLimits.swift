import CLinux
import CMemoryGuard
import Glibc
import Posix
import VAAPI

/// What the kernel counts against the limit.
enum MemoryTier: String, Sendable {
  /// Everything that the process maps, code and frames included (RLIMIT_AS, with RLIMIT_DATA).
  case address
  /// Memory of its own that it may write to (RLIMIT_DATA).
  case data

  /// Drivers of devices map more than the limit before they do anything, so `address` stands where
  /// no device is used.
  init(for display: DisplayChoice) {
    self = display == .none ? .address : .data
  }
}

/// The limits that the kernel holds this process to, as read back from it.
struct MemoryLimits: Equatable, Sendable {
  /// In bytes; nil is no limit.
  let dataBytes: Int?
  let addressBytes: Int?

  /// 50 MiB: what a screen broadcast may use where it comes from.
  static let standard = 50 << 20

  /// Sets soft and hard limits that nothing can raise again, forbids core files, which would hold
  /// the screen, and keeps threads small. The first act of the process, while it has one thread.
  ///
  /// A sanitizer's build fits no limit and sets none.
  static func apply(tier: MemoryTier, byteCount: Int) throws(PosixError) -> MemoryLimits {
    try set(RLIMIT_CORE, to: 0, "RLIMIT_CORE")
    let code = porthole_guard_limit_threads(threadStackByteCount)
    if code != 0 { throw PosixError("thread stack size", code: code) }
    guard porthole_guard_is_built() != 0 else {
      return MemoryLimits(dataBytes: nil, addressBytes: nil)
    }
    try set(RLIMIT_DATA, to: byteCount, "RLIMIT_DATA")
    if tier == .address { try set(RLIMIT_AS, to: byteCount, "RLIMIT_AS") }
    try Capability.drop(CAP_SYS_RESOURCE)
    return MemoryLimits(
      dataBytes: byteCount, addressBytes: tier == .address ? byteCount : nil)
  }

  /// Stacks count in full as soon as they are made. The deepest caller known is a VA driver; 64 kB
  /// was enough for everything measured.
  static let threadStackByteCount = 256 << 10

  private static func set(
    _ resource: __rlimit_resource, to byteCount: Int, _ name: String
  ) throws(PosixError) {
    let wanted = UInt64(byteCount)
    try check(linux_setrlimit(Int32(resource.rawValue), wanted), "setrlimit \(name)")
    var soft: UInt64 = 0
    var hard: UInt64 = 0
    try check(
      unsafe linux_getrlimit(Int32(resource.rawValue), &soft, &hard), "getrlimit \(name)")
    guard soft == wanted, hard == wanted else { throw PosixError("setrlimit \(name)", code: EPERM) }
  }
}
