import CLinux
import Glibc
import Posix

/// What root may do, one right at a time.
enum Capability {
  /// Gives a right up for good, in this thread and those it makes, and for programs it may run.
  /// A process without the right has nothing to give up.
  static func drop(_ capability: Int32) throws(PosixError) {
    var header = __user_cap_header_struct(version: UInt32(_LINUX_CAPABILITY_VERSION_3), pid: 0)
    var sets = InlineArray<2, __user_cap_data_struct>(repeating: __user_cap_data_struct())
    var span = sets.mutableSpan
    let word = Int(capability / 32)
    let bit = UInt32(1) << UInt32(capability % 32)
    let isHeld = try unsafe span.withUnsafeMutableBufferPointer {
      (sets) throws(PosixError) in
      try check(unsafe linux_capget(&header, sets.baseAddress), "capget")
      return unsafe sets[word].permitted & bit != 0
    }
    guard isHeld else { return }
    // Needs the set of rights that it takes from, so it comes first.
    try check(linux_prctl(PR_CAPBSET_DROP, UInt(capability)), "PR_CAPBSET_DROP")
    try unsafe span.withUnsafeMutableBufferPointer { (sets) throws(PosixError) in
      unsafe sets[word].permitted &= ~bit
      unsafe sets[word].effective &= ~bit
      unsafe sets[word].inheritable &= ~bit
      try check(unsafe linux_capset(&header, sets.baseAddress), "capset")
    }
  }
}
