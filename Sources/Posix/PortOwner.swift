internal import Glibc

/// Which process of this user listens on a port, found by its socket among the descriptors of /proc.
package enum PortOwner {
  /// The pid of a process that runs `program` (its first word) and listens on `address`; nil when
  /// nobody does, or somebody else.
  package static func pid(
    ofListenerOn address: SocketAddress, running program: String
  ) throws(PosixError) -> Int32? {
    guard let inode = try PeerIdentity.inode(ofListenerOn: address) else { return nil }
    let link = "socket:[\(inode)]"
    return names(in: "/proc").lazy.compactMap { Int32($0) }.first { pid in
      firstWord(of: pid) == program
        && names(in: "/proc/\(pid)/fd").contains { target(of: "/proc/\(pid)/fd/\($0)") == link }
    }
  }

  private static func firstWord(of pid: Int32) -> String {
    let words = (try? TextFile.read("/proc/\(pid)/cmdline", limit: 64 << 10)) ?? ""
    return String(words.prefix { $0 != "\0" })
  }

  /// Empty for a folder that cannot be read, as those of other users.
  private static func names(in path: String) -> [String] {
    guard let folder = unsafe opendir(path) else { return [] }
    defer { unsafe closedir(folder) }
    var found: [String] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      found.append(name)
    }
    return found
  }

  private static func target(of path: String) -> String {
    var bytes = [CChar](repeating: 0, count: 64)
    let count = unsafe readlink(path, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
