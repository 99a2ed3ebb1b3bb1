import Foundation
package import TestSupport

/// A session bus, and what a desktop has on it beside its portal, as `Tests/Desk/services.py` plays it; gone
/// with the value. The same bus stands for the machine's, where logind is.
package final class DeskServices {
  /// What a program needs to find both buses.
  package let environment: [String: String]
  private let directory: TestDirectory
  private let bus: ProcessRun
  private let names: [String]
  private var process: ProcessRun
  private var count = 0

  package init(_ names: [String], in directory: TestDirectory) throws {
    self.directory = directory
    self.names = names
    let path = directory.file("bus")
    bus = try startBus(at: path, in: directory)
    environment = [
      "XDG_RUNTIME_DIR": directory.path, "XDG_STATE_HOME": directory.file("state"),
      "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(path)",
      "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)",
    ]
    process = try Self.start(names, 0, environment, in: directory)
  }

  /// What was called, in its order.
  package var calls: [String] { process.output.split(separator: "\n").map(String.init) }

  /// Has the desktop do something, by the words of `services.py`.
  package func act(_ words: String) throws {
    let run = try ProcessRun.run(
      "gdbus",
      [
        "call", "--session", "--dest", names[0], "--object-path", "/test", "--method",
        "org.porthole.Test.Do", words,
      ], environment: environment, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
  }

  /// To the process that has all of it, as SIGSTOP for a desktop that hangs.
  package func signal(_ number: Int32) { process.signal(number) }

  /// Ends it, and starts another one, which knows nothing of what was.
  package func restart() throws {
    process.end()
    count += 1
    process = try Self.start(names, count, environment, in: directory)
  }

  private static func start(
    _ names: [String], _ count: Int, _ environment: [String: String], in directory: TestDirectory
  ) throws -> ProcessRun {
    let process = try ProcessRun(
      "/usr/bin/python3", [packageRoot + "/Tests/Desk/services.py"] + names,
      name: "services\(count)", environment: environment, in: directory)
    try waitUntil("the desktop's services") { process.output.contains("ready") ? () : nil }
    return process
  }
}
