import Glibc
package import Posix

/// The relay's executable, run by a test on ports of the kernel's choice.
package struct RelayRun {
  package let process: ProcessRun
  package let consumers: SocketAddress
  package let http: SocketAddress
  /// `http`, or `https` with `--tls`.
  package let scheme: String
  package let viewerKey: String
  /// As printed, the first of them with `http`.
  package let viewerAddresses: [String]
  package let directory: TestDirectory
  private let program: String

  /// Starts `program` with `arguments` and waits for its ready lines.
  package init(
    _ arguments: [String], in directory: TestDirectory, name: String = "relay",
    program: String = debugProgram, descriptors: Int? = nil, fileBytes: Int? = nil,
    environment: [String: String] = [:]
  ) throws {
    self.directory = directory
    self.program = program
    let run = try Self.start(
      ["--consumers", "127.0.0.1:0", "--http", "127.0.0.1:0"] + arguments, in: directory,
      name: name, program: program, descriptors: descriptors, fileBytes: fileBytes,
      environment: environment)
    process = run
    let lines = try waitUntil("the relay's ready lines") { () -> [Substring]? in
      let lines = run.output.split(separator: "\n")
      if lines.last?.hasPrefix("consumers: ") == true { return lines }
      if run.exitCode != nil { throw ProcessFailure(description: run.errors) }
      return nil
    }
    viewerAddresses = lines.filter { $0.hasPrefix("viewer address: ") }
      .map { String($0.dropFirst("viewer address: ".count)) }
    let parts = (viewerAddresses.first ?? "").split(separator: "/")
    guard parts.count == 3, let http = SocketAddress(String(parts[1])),
      let consumers = lines.last.flatMap({ SocketAddress(String($0.dropFirst(11))) })
    else { throw ProcessFailure(description: "unreadable: \(lines)") }
    self.http = http
    self.consumers = consumers
    scheme = String(parts[0].dropLast())
    viewerKey = String(parts[2].dropFirst("#key=".count))
  }

  /// Starts it without waiting for anything; with no more than so many `descriptors`, and bytes of a
  /// file, if given.
  package static func start(
    _ arguments: [String], in directory: TestDirectory, name: String = "relay",
    program: String = debugProgram, descriptors: Int? = nil, fileBytes: Int? = nil,
    environment: [String: String] = [:]
  ) throws -> ProcessRun {
    var words = [program] + arguments
    if let fileBytes { words = ["prlimit", "--fsize=\(fileBytes)"] + words }
    if let descriptors { words = ["prlimit", "--nofile=\(descriptors)"] + words }
    return try ProcessRun(
      words[0], Array(words.dropFirst()), name: name,
      environment: Self.environment(of: directory).merging(environment) { $1 }, in: directory)
  }

  /// What a program finds in `directory` and nowhere else.
  package static func environment(of directory: TestDirectory) -> [String: String] {
    ["XDG_RUNTIME_DIR": directory.path, "XDG_STATE_HOME": directory.file("state")]
  }

  /// The certificate that `--tls` makes there, with its key.
  package static func certificate(in directory: TestDirectory) -> String {
    directory.file("state/porthole/tls.pem")
  }

  /// The token that relay and agent share in `directory`.
  package static func token(in directory: TestDirectory) throws -> LinkToken {
    try LinkToken(
      file: RuntimeDirectory(path: directory.file("porthole")).file("token"))
  }

  /// Runs curl on `path`; returns the body, and the status in the last line.
  package func get(_ path: String, _ options: [String] = []) throws -> String {
    try ProcessRun.run(
      "curl",
      ["-s", "-w", "\n%{http_code}", "\(scheme)://\(http)\(path)"]
        + (scheme == "https" ? ["--cacert", Self.certificate(in: directory)] : []) + options,
      in: directory
    ).output
  }

  /// The executable lies beside the test bundle.
  package static let debugProgram: String = {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    precondition(count > 0, "/proc/self/exe can be read")
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let program = bundle ?? String(decoding: path[..<count].map(UInt8.init), as: UTF8.self)
    return program.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/host-relay"
  }()

  /// Runs `host-relay ctl` against this relay.
  package func ctl(_ words: String...) throws -> ProcessRun { try ctl(words) }

  package func ctl(_ words: [String]) throws -> ProcessRun {
    let run = try Self.start(
      ["ctl"] + words + ["--http", "\(http)"], in: directory, name: "ctl", program: program)
    try run.waitForEnd()
    return run
  }
}
