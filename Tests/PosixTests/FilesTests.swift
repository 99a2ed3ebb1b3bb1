import Foundation
import Glibc
import Posix
import Report
import Testing

@Suite final class FilesTests {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "porthole-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  // A pipe in the place of a file kept its reader waiting for ever.
  @Test("a pipe in the place of a small file is refused at once")
  func pipe() throws {
    let path = folder.path + "/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    #expect(throws: PosixError.self) { try TextFile.read(path, limit: 10) }
  }

  @Test("two makers of a token read the same one, and only this user may")
  func token() throws {
    let path = folder.path + "/token"
    let first = try LinkToken(file: path)
    let second = try LinkToken(file: path)
    #expect(first.matches(second.bytes))
    #expect(!first.matches(Array(second.bytes.dropLast()) + [second.bytes[31] ^ 1]))
    #expect(!first.matches([]))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["token"])
  }

  @Test("a token that is to be there is not made")
  func missingToken() throws {
    let path = folder.path + "/token"
    #expect(throws: PosixError("open \(path)", code: ENOENT)) { try LinkToken(existing: path) }
    #expect(access(path, F_OK) != 0)
    let made = try LinkToken(file: path)
    #expect(try LinkToken(existing: path).matches(made.bytes))
  }

  @Test("a token that others may read, or of another length, is refused")
  func badToken() throws {
    let path = folder.path + "/token"
    _ = try LinkToken(file: path)
    chmod(path, 0o644)
    #expect(throws: PosixError.self) { try LinkToken(file: path) }
    chmod(path, 0o600)
    for count in [0, 31, 33] {
      try Data(count: count).write(to: URL(fileURLWithPath: path))
      #expect(throws: PosixError.self) { try LinkToken(file: path) }
    }
  }

  @Test("a runtime directory that others may enter is refused")
  func runtimeDirectory() throws {
    let path = folder.path + "/run"
    #expect(try RuntimeDirectory(path: path).file("token") == path + "/token")
    chmod(path, 0o755)
    #expect(throws: PosixError.self) { try RuntimeDirectory(path: path) }
  }

  @Test("last words are read as they were written, and nothing is made of other bytes")
  func lastWords() throws {
    let directory = try RuntimeDirectory(path: folder.path + "/run")
    #expect(LastWords.read(from: directory) == nil)
    let file = try LastWords.open(in: directory, pid: 0x0102_0304, instance: 5)
    #expect(LastWords.read(from: directory) == nil, "it lives")
    // Its room is taken at once: the disk may be full later.
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file("last-words"))).count == 64)
    let words = LastWords(
      pid: 0x0102_0304, instance: 0x1112_1314_1516_1718, code: 86, text: "memory limit")
    #expect(
      Array(words.bytes.prefix(24)) == Array("PHLW".utf8) + [
        1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 86, 0x6d, 0x65, 0x6d,
        0x6f,
      ])
    words.write(to: file.raw)
    #expect(LastWords.read(from: directory) == words)
    #expect(LastWords.read(from: directory, port: 14_579) == nil, "another agent's")
    #expect(LastWords(bytes: [UInt8](repeating: 0, count: 64)) == nil)
  }

  @Test("the last words of an agent without a port go nowhere, until it has one")
  func movedWords() throws {
    let directory = try RuntimeDirectory(path: folder.path + "/run")
    let file = try LastWords.open(in: directory, port: 0, pid: 7, instance: 5)
    let words = LastWords(pid: 7, instance: 5, code: 86, text: "early")
    words.write(to: file.raw)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file(".")).isEmpty)
    try LastWords.move(file.raw, to: 14_579, in: directory, pid: 7, instance: 5)
    #expect(LastWords.read(from: directory, port: 14_579) == nil, "it lives")
    words.write(to: file.raw)
    #expect(LastWords.read(from: directory, port: 14_579) == words)
    #expect(fcntl(file.raw, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("the end of a unit is written beside the name of an agent that is gone, and over no other")
  func recordedEnd() throws {
    let directory = try RuntimeDirectory(path: folder.path + "/run")
    let end = try #require(
      ServiceEnd(variable: ["EXIT_CODE": "killed", "EXIT_STATUS": "KILL"].get))
    LastWords.complete(with: end, in: directory)
    #expect(access(directory.file("last-words"), F_OK) != 0, "nothing is made of nothing")
    _ = try LastWords.open(in: directory, pid: UInt32(getpid()), instance: 5)
    LastWords.complete(with: end, in: directory)
    #expect(LastWords.read(from: directory) == nil, "it lives")
    // Beyond what the kernel gives.
    let file = try LastWords.open(in: directory, pid: 5_000_000, instance: 5)
    LastWords.complete(with: end, in: directory)
    #expect(
      LastWords.read(from: directory)
        == LastWords(pid: 5_000_000, instance: 5, code: 137, text: ""))
    let own = LastWords(pid: 5_000_000, instance: 5, code: 86, text: "an allocation failed")
    own.write(to: file.raw)
    LastWords.complete(with: end, in: directory)
    #expect(LastWords.read(from: directory) == own)
  }

  @Test(
    "what systemd says of an end is read as a shell's code",
    arguments: [
      ("killed", "KILL", "oom-kill", 137, "oom-kill"), ("dumped", "ABRT", "core-dump", 134, ""),
      ("killed", "SEGV", "signal", 139, ""), ("dumped", "ILL", "core-dump", 132, ""),
      ("killed", "ABRT", "watchdog", 134, "watchdog"), ("killed", "34", "signal", 162, ""),
      ("exited", "86", "exit-code", 86, ""), ("exited", "0", "success", 0, ""),
    ])
  func serviceEnd(how: String, status: String, result: String, code: Int32, text: String) throws {
    let variables = ["EXIT_CODE": how, "EXIT_STATUS": status, "SERVICE_RESULT": result]
    let end = try #require(ServiceEnd(variable: variables.get))
    #expect(end.code == code)
    #expect(end.text == text)
  }

  @Test(
    "and nothing is made of what no unit's end looks like",
    arguments: [
      [:], ["EXIT_CODE": "killed"], ["EXIT_CODE": "exited", "EXIT_STATUS": "KILL"],
      ["EXIT_CODE": "killed", "EXIT_STATUS": "NEVER"],
    ])
  func noServiceEnd(variables: [String: String]) {
    #expect(ServiceEnd(variable: variables.get) == nil)
  }
}

extension [String: String] {
  fileprivate func get(_ name: String) -> String? { self[name] }
}
