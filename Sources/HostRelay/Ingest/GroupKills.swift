import Posix

/// How often the kernel has killed in a process's control group for want of memory, now and when the
/// process was met: by that a kill of the outer fence is told from any other SIGKILL.
struct GroupKills {
  private let path: String
  private let before: Int

  /// nil where the group or its count cannot be read.
  init?(of pid: UInt32) {
    guard let groups = try? TextFile.read("/proc/\(pid)/cgroup", limit: Self.textLimit),
      let path = Self.path(in: groups)
    else { return nil }
    self.init(file: path)
  }

  /// `file` is the group's, with a line `oom_kill N`.
  init?(file: String) {
    guard let count = Self.count(in: file) else { return nil }
    path = file
    before = count
  }

  /// Whether the kernel has killed there since.
  var haveRisen: Bool { Self.count(in: path).map { $0 > before } ?? false }

  private static let textLimit = 16 << 10

  /// The file that counts, by what /proc/PID/cgroup says: `N:memory:/GROUP` of version 1 comes first
  /// where both versions are there.
  static func path(in groups: String) -> String? {
    var found: String?
    for line in groups.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      if parts[1].split(separator: ",").contains("memory") {
        return "/sys/fs/cgroup/memory\(parts[2])/memory.oom_control"
      }
      if parts[0] == "0" { found = "/sys/fs/cgroup\(parts[2])/memory.events" }
    }
    return found
  }

  private static func count(in file: String) -> Int? {
    guard let text = try? TextFile.read(file, limit: textLimit) else { return nil }
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == "oom_kill" { return Int(words[1]) }
    }
    return nil
  }
}
