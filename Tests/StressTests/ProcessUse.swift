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
    guard let folder = opendir("/proc/\(pid)/fd") else {
      throw ProcessFailure(description: "process \(pid) is gone")
    }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    descriptors = count - 2
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
