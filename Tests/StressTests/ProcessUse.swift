import Glibc
import TestSupport

/// What a process holds at one moment, from /proc.
struct ProcessUse {
  let descriptors: Int
  let threads: Int
  let dataKB: Int
  let sizeKB: Int
  let anonymousKB: Int

  init(of pid: pid_t) throws {
    descriptors = try fileNames(in: "/proc/\(pid)/fd").count
    let text = String(decoding: try readFile("/proc/\(pid)/status"), as: UTF8.self)
    func figure(_ name: String) -> Int {
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
      return line?.split { $0.isWhitespace }.dropFirst().first.flatMap { Int($0) } ?? -1
    }
    threads = figure("Threads")
    dataKB = figure("VmData")
    sizeKB = figure("VmSize")
    anonymousKB = figure("RssAnon")
  }
}

/// What lies in a folder, in order.
func fileNames(in path: String) throws -> [String] {
  guard let folder = opendir(path) else {
    throw ProcessFailure(description: "\(path): \(String(cString: strerror(errno)))")
  }
  defer { closedir(folder) }
  var names: [String] = []
  while let entry = readdir(folder) {
    names.append(
      withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      })
  }
  return names.filter { $0 != "." && $0 != ".." }.sorted()
}
