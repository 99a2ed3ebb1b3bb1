import Glibc
import Posix
import TestSupport

/// The relay's executable, run by a test on ports of the kernel's choice.
struct RelayRun {
  let process: ProcessRun
  let consumers: SocketAddress
  let http: SocketAddress
  let viewerKey: String
  let directory: TestDirectory

  /// Starts it with `arguments` and waits for its ready lines.
  init(_ arguments: [String], in directory: TestDirectory, name: String = "relay") throws {
    self.directory = directory
    let run = try Self.start(
      ["--consumers", "127.0.0.1:0", "--http", "127.0.0.1:0"] + arguments, in: directory,
      name: name)
    process = run
    let lines = try waitUntil("the relay's ready lines") { () -> [String]? in
      let lines = run.output.split(separator: "\n").map(String.init)
      if lines.count < 2, run.exitCode != nil { throw ProcessFailure(description: run.errors) }
      return lines.count >= 2 ? lines : nil
    }
    let viewer = lines[0].dropFirst("viewer address: http://".count)
    let parts = viewer.split(separator: "/")
    guard let http = SocketAddress(String(parts[0])),
      let consumers = SocketAddress(String(lines[1].dropFirst("consumers: ".count)))
    else { throw ProcessFailure(description: "unreadable: \(lines)") }
    self.http = http
    self.consumers = consumers
    viewerKey = String(parts[1].dropFirst("?key=".count))
  }

  /// Starts it without waiting for anything.
  static func start(
    _ arguments: [String], in directory: TestDirectory, name: String = "relay"
  ) throws -> ProcessRun {
    try ProcessRun(
      executable, arguments, name: name, environment: ["XDG_RUNTIME_DIR": directory.path],
      in: directory)
  }

  /// The token that relay and agent share in `directory`.
  static func token(in directory: TestDirectory) throws -> LinkToken {
    try LinkToken(
      file: RuntimeDirectory(path: directory.file("porthole")).file("token"))
  }

  /// Runs curl on `path`; returns the body, and the status in the last line.
  func get(_ path: String, _ options: [String] = []) throws -> String {
    try ProcessRun.run(
      "curl", ["-s", "-w", "\n%{http_code}", "http://\(http)\(path)"] + options, in: directory
    ).output
  }

  /// The executable lies beside the test bundle.
  private static let executable: String = {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    precondition(count > 0, "/proc/self/exe can be read")
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let program = bundle ?? String(decoding: path[..<count].map(UInt8.init), as: UTF8.self)
    return program.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/host-relay"
  }()
}
