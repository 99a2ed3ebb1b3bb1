import Glibc

/// What the kernel says of a process at one moment.
package struct ProcessFootprint: Sendable {
  package let residentKB: Int
  package let residentPeakKB: Int
  /// What is mapped now, and the most that was.
  package let sizeKB: Int
  package let peakSizeKB: Int
  /// What of it may be written to: VmData.
  package let dataKB: Int
  /// What is its own: heap and stacks, without files, the programs themselves among them.
  package let privateKB: Int
  package let threads: Int
  /// The number that its next descriptor gets.
  package let nextDescriptor: Int
  package let descriptorCount: Int
  package let cpuSeconds: Double

  /// Fails for a process that has ended, also where nobody has waited for it.
  package init(of pid: pid_t) throws {
    let lines = try Self.text("/proc/\(pid)/status").split(separator: "\n")
    func figure(_ name: String) throws -> Int {
      let line = lines.first { $0.hasPrefix(name + ":") }
      guard let value = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
        let number = Int(value)
      else { throw ProcessFailure(description: "/proc/\(pid)/status: no \(name)") }
      return number
    }
    residentKB = try figure("VmRSS")
    residentPeakKB = try figure("VmHWM")
    sizeKB = try figure("VmSize")
    peakSizeKB = try figure("VmPeak")
    dataKB = try figure("VmData")
    privateKB = try figure("RssAnon")
    threads = try figure("Threads")
    let stat = try Self.text("/proc/\(pid)/stat")
    // Behind the name in brackets: the state is the first word, user and system time 12th and 13th.
    let fields = stat.drop { $0 != ")" }.dropFirst().split(whereSeparator: \.isWhitespace)
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw ProcessFailure(description: "/proc/\(pid)/stat: \(stat)")
    }
    cpuSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    let descriptors = Set(try fileNames(in: "/proc/\(pid)/fd").compactMap { Int($0) })
    nextDescriptor = (0...).first { !descriptors.contains($0) } ?? 0
    descriptorCount = descriptors.count
  }

  private static func text(_ path: String) throws -> String {
    String(decoding: try readFile(path), as: UTF8.self)
  }
}
