import Foundation
import TestSupport
import Wire

/// A relay and an agent on ports of their own; the agent encodes a small pattern, or what its portal
/// gives.
final class Pair {
  let directory: TestDirectory
  let relay: ProcessRun
  /// Where the agent listens.
  let listen: UInt16
  let consumers: UInt16
  private let http: UInt16
  private let agentWords: [String]
  private let environment: [String: String]
  private let isChild: Bool
  /// The agent that is nobody's child but ours.
  private(set) var unit: ProcessRun?
  private var unitCount = 0

  /// `faults` are the environment of the agent; as the relay's child, or as a unit of its own.
  init(
    in directory: TestDirectory, faults: [String: String], asChild isChild: Bool,
    size: String? = "320x240", agent options: [String] = [], releasedAgent: Bool = false
  ) throws {
    self.directory = directory
    self.isChild = isChild
    let ports = (0..<3).map { _ in freePort() }
    listen = ports[0]
    consumers = ports[1]
    http = ports[2]
    environment = faults.merging(["XDG_RUNTIME_DIR": directory.path]) { one, _ in one }
    agentWords =
      [
        releasedAgent ? releasedProgram("capture-agent") : faultyProgram("capture-agent"),
        "--listen", "127.0.0.1:\(ports[0])", "--va-display", "none",
      ] + (size.map { ["--source", "pattern", "--size", $0] } ?? []) + options
    relay = try ProcessRun(
      faultyProgram("host-relay"),
      [
        "--agent", "127.0.0.1:\(ports[0])", "--consumers", "127.0.0.1:\(ports[1])", "--http",
        "127.0.0.1:\(ports[2])",
      ] + (isChild ? ["--spawn-agent", agentWords.joined(separator: " ")] : []),
      name: "relay", environment: environment, in: directory)
    if !isChild { try startUnit() }
  }

  deinit {
    let pid = agentPID
    unit?.end()
    relay.end()
    if isChild, let pid { kill(pid, SIGKILL) }
  }

  /// Another agent in the place of one that is gone; the relay sees to its child itself.
  func restartAgent() throws {
    if !isChild { try startUnit() }
  }

  private func startUnit() throws {
    unitCount += 1
    unit = try ProcessRun(
      agentWords[0], Array(agentWords.dropFirst()), name: "agent\(unitCount)",
      environment: environment, in: directory)
  }

  /// `/api/v1/status`; nil while nobody answers.
  var status: [String: Any]? {
    let words = ["-s", "--max-time", "2", "http://127.0.0.1:\(http)/api/v1/status"]
    guard let run = try? ProcessRun.run("curl", words, in: directory), run.exitCode == 0 else {
      return nil
    }
    return try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
  }

  var state: String { status?["state"] as? String ?? "" }
  var lastDeath: String { status?["last_death"] as? String ?? "" }
  var agentPID: pid_t? { (status?["agent"] as? [String: Any])?["pid"] as? pid_t }
}
