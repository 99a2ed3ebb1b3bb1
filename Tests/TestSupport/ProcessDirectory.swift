import Glibc

/// A folder of one test for the files and sockets of its processes. Its path is short, for a
/// socket's name holds 107 bytes.
package struct TestDirectory: Sendable {
  package let path: String

  package func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Runs `body` with a fresh folder, which goes when `body` returns. When it throws, the ends of the
/// logs are printed and the folder stays.
package func withTestDirectory<Result>(_ body: (TestDirectory) throws -> Result) throws -> Result {
  var template = Array("/tmp/porthole-test.XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else {
    throw ProcessFailure(description: "mkdtemp: \(String(cString: strerror(errno)))")
  }
  let directory = TestDirectory(
    path: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
  do {
    let result = try body(directory)
    removeTree(directory.path)
    return result
  } catch {
    print("kept: \(directory.path)")
    for name in (try? fileNames(in: directory.path)) ?? [] where name.hasSuffix(".err") {
      let text = (try? String(decoding: readFile(directory.file(name)), as: UTF8.self)) ?? ""
      let lines = text.split(whereSeparator: \.isNewline)
      for line in lines.suffix(20) { print("  \(name): \(line)") }
    }
    throw error
  }
}

/// What lies in a folder, in order.
package func fileNames(in path: String) throws -> [String] {
  guard let folder = opendir(path) else {
    throw ProcessFailure(description: "\(path): \(String(cString: strerror(errno)))")
  }
  defer { closedir(folder) }
  var found: [String] = []
  while let entry = readdir(folder) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != "." && name != ".." { found.append(name) }
  }
  return found.sorted()
}

private func removeTree(_ path: String) {
  if unlink(path) == 0 { return }
  for name in (try? fileNames(in: path)) ?? [] { removeTree("\(path)/\(name)") }
  rmdir(path)
}
