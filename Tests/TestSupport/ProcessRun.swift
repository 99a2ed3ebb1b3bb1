import Glibc
import Synchronization

/// A program that a test runs: its output goes to files, it is ended by its pid, and nothing of it
/// outlives the value.
package final class ProcessRun: Sendable {
  package let name: String
  package let pid: pid_t
  package let outputPath: String
  package let errorPath: String
  /// As a shell has it: 128 and the signal's number for one that a signal ended.
  private let status = Mutex<Int32?>(nil)

  /// Starts `program` (looked up in PATH) with its output in `directory/name.out` and `.err`.
  /// `environment` is laid over the test's own, where no configuration of the user's is read; an empty
  /// value takes a variable away.
  package init(
    _ program: String, _ arguments: [String] = [], name: String? = nil,
    environment: [String: String] = [:], in directory: TestDirectory
  ) throws {
    let name = name ?? program.split(separator: "/").last.map(String.init) ?? program
    self.name = name
    outputPath = directory.file("\(name).out")
    errorPath = directory.file("\(name).err")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputPath, flags, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errorPath, flags, 0o600)

    // Dispatch's threads, on which tests run, block signals, and a shell has what it starts with `&` ignore
    // Ctrl-C: a child would never see either.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var interrupts = none
    sigaddset(&interrupts, SIGINT)
    sigaddset(&interrupts, SIGQUIT)
    posix_spawnattr_setsigdefault(&attributes, &interrupts)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var words = ([program] + arguments).map { strdup($0) } + [nil]
    var variables = Self.environment(with: environment).map { strdup($0) } + [nil]
    defer { for word in words + variables { free(word) } }
    var child = pid_t()
    let result = posix_spawnp(&child, program, &actions, &attributes, &words, &variables)
    guard result == 0 else {
      throw ProcessFailure(description: "\(program): \(String(cString: strerror(result)))")
    }
    pid = child
  }

  deinit { end() }

  /// Runs a program to its end.
  package static func run(
    _ program: String, _ arguments: [String] = [], name: String? = nil,
    environment: [String: String] = [:], in directory: TestDirectory,
    within limit: Duration = .seconds(30)
  ) throws -> ProcessRun {
    let run = try ProcessRun(
      program, arguments, name: name, environment: environment, in: directory)
    try run.waitForEnd(within: limit)
    return run
  }

  package var output: String { Self.text(outputPath) }
  package var errors: String { Self.text(errorPath) }

  /// nil while it runs.
  package var exitCode: Int32? {
    status.withLock { status in
      guard status == nil else { return status }
      var word: Int32 = 0
      guard waitpid(pid, &word, WNOHANG) == pid else { return nil }
      status = word & 0x7f == 0 ? word >> 8 & 0xff : 128 + word & 0x7f
      return status
    }
  }

  @discardableResult
  package func waitForEnd(within limit: Duration = .seconds(10)) throws -> Int32 {
    try waitUntil("end of \(name)", within: limit) { exitCode }
  }

  /// Sends a signal, to this process and no other, and only while it runs.
  package func signal(_ number: Int32) {
    if exitCode == nil { kill(pid, number) }
  }

  /// TERM, and KILL if that has not ended it in 5 seconds.
  package func end() {
    signal(SIGTERM)
    if (try? waitForEnd(within: .seconds(5))) == nil {
      signal(SIGKILL)
      _ = try? waitForEnd()
    }
  }

  private static func text(_ path: String) -> String {
    (try? String(decoding: readFile(path), as: UTF8.self)) ?? ""
  }

  private static func environment(with changes: [String: String]) -> [String] {
    let changes = ["PORTHOLE_CONFIG": "/dev/null"].merging(changes) { $1 }
    var kept: [String] = []
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      let name = text.prefix { $0 != "=" }
      if changes[String(name)] == nil { kept.append(text) }
      next += 1
    }
    return kept + changes.filter { !$0.value.isEmpty }.map { "\($0.key)=\($0.value)" }
  }
}

/// A program that could not be run, or ended as it should not.
package struct ProcessFailure: Error, CustomStringConvertible {
  package let description: String
  package init(description: String) { self.description = description }
}

/// All bytes of a file, also of one in /proc.
package func readFile(_ path: String) throws -> [UInt8] {
  let fd = open(path, O_RDONLY | O_CLOEXEC)
  guard fd >= 0 else {
    throw ProcessFailure(description: "\(path): \(String(cString: strerror(errno)))")
  }
  defer { close(fd) }
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 1 << 16)
  while case let count = read(fd, &piece, piece.count), count > 0 { bytes += piece[..<count] }
  return bytes
}
