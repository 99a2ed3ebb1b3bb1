import CLinux
import Glibc
import Report

/// How many descriptors the agent may open.
enum DescriptorLimit {
  /// A capture through the portal holds 48 with three buffers. Producers with more buffers and the
  /// drivers of devices come on top; one that is missing later would fail anywhere.
  static let least = 96

  /// Asks for as many as are needed where the soft limit is lower.
  static func ensure() throws(SourceEnd) {
    var soft: UInt64 = 0
    var hard: UInt64 = 0
    let resource = Int32(RLIMIT_NOFILE.rawValue)
    guard unsafe linux_getrlimit(resource, &soft, &hard) == 0, soft < UInt64(least) else { return }
    guard hard >= UInt64(least), linux_setrlimit(resource, UInt64(least)) == 0 else {
      throw SourceEnd(
        code: .unavailable,
        text: "the limit of open files is \(hard) and \(least) are needed: raise `ulimit -n`")
    }
  }
}
