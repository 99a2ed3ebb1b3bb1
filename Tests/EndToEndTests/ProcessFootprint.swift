import Glibc
import TestSupport

/// What the kernel says of a process at one moment.
struct ProcessFootprint {
  let residentKB: Int
  /// The most that was mapped at a time.
  let peakSizeKB: Int
  /// What is its own: heap and stacks, without files, the programs themselves among them.
  let privateKB: Int
  /// The number that its next descriptor gets.
  let nextDescriptor: Int
  let descriptorCount: Int
  let cpuSeconds: Double

  init(of pid: pid_t) throws {
    let status = try lines(of: "/proc/\(pid)/status")
    func kilobytes(_ name: String) -> Int {
      status.first { $0.hasPrefix(name) }.flatMap { Int(words($0)[1]) } ?? 0
    }
    residentKB = kilobytes("VmRSS:")
    peakSizeKB = kilobytes("VmPeak:")
    privateKB = kilobytes("RssAnon:")
    let stat = String(decoding: try readFile("/proc/\(pid)/stat"), as: UTF8.self)
    // Behind the name in brackets: the state is the first word, user and system time 12th and 13th.
    let fields = words(stat.drop { $0 != ")" }.dropFirst())
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw ProcessFailure(description: "/proc/\(pid)/stat: \(stat)")
    }
    cpuSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    var descriptors: Set<Int> = []
    guard let folder = opendir("/proc/\(pid)/fd") else {
      throw ProcessFailure(description: "/proc/\(pid)/fd cannot be read")
    }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let number = Int(name) { descriptors.insert(number) }
    }
    nextDescriptor = (0...).first { !descriptors.contains($0) } ?? 0
    descriptorCount = descriptors.count
  }
}
