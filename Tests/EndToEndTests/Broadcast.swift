import CaptureSupport
import Foundation
import Posix
import TestSupport

/// Both programs as released, on ports of their own: the relay with the agent as its child.
final class Broadcast {
  let directory: TestDirectory
  let environment: [String: String]
  let ports: Ports
  private let scheme: String
  /// Of its logs.
  private let name: String
  private(set) var relay: ProcessRun
  private let relayOptions: [String]
  private var relayCount = 1

  struct Ports {
    let agent = freePort()
    let consumers = freePort()
    let http = freePort()
  }

  /// With a desktop the portal gives the picture, without one the agent makes a pattern. `driver` is what
  /// the software driver finds in its environment, `services` a desktop without a screen. `anywhere`: HTTP is there for other machines too.
  init(
    in directory: TestDirectory, desktop: DesktopSession? = nil, scripted: ScriptedDesk? = nil,
    services: DeskServices? = nil, agent: [String] = [],
    relay: [String] = [], driver: [String: String] = [:], anywhere: Bool = false,
    ports: Ports = Ports(), name: String = "relay"
  ) throws {
    self.directory = directory
    let desk = desktop?.environment ?? scripted?.environment
    environment = (desk ?? services?.environment ?? RelayRun.environment(of: directory))
      .merging(driver) { $1 }
    scheme = relay.contains("--tls") ? "https" : "http"
    self.ports = ports
    self.name = name
    let source = desk == nil ? ["--source", "pattern"] : []
    let words = [program("capture-agent"), "--listen", "127.0.0.1:\(ports.agent)"]
    let command = (words + ["--va-display", "none"] + source + agent).joined(separator: " ")
    relayOptions =
      [
        "--agent", "127.0.0.1:\(ports.agent)", "--consumers", "127.0.0.1:\(ports.consumers)",
        "--http", "\(anywhere ? "0.0.0.0" : "127.0.0.1"):\(ports.http)", "--spawn-agent", command,
      ] + relay
    self.relay = try ProcessRun(
      program("host-relay"), relayOptions, name: "\(name)1", environment: environment, in: directory
    )
  }

  /// Ends both; the relay ends its agent.
  func end() {
    let agent = agentPID
    relay.end()
    if let agent, kill(agent, 0) == 0 {
      kill(agent, SIGKILL)
    }
  }

  deinit { end() }

  /// Runs `host-relay ctl` with `words`.
  func control(_ words: String...) throws {
    let run = try ProcessRun.run(
      program("host-relay"), ["ctl"] + words + ["--http", "127.0.0.1:\(ports.http)"],
      name: "ctl", environment: environment, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors + run.output) }
  }

  /// Where the agent listens.
  var agentAddress: SocketAddress { SocketAddress(bytes: [127, 0, 0, 1], port: ports.agent) }
  /// Where programs read.
  var consumers: SocketAddress { SocketAddress(bytes: [127, 0, 0, 1], port: ports.consumers) }
  var page: String { "\(scheme)://127.0.0.1:\(ports.http)" }
  /// The page as it is called from elsewhere, with the viewer key.
  func page(at host: String) throws -> String {
    guard let key = relay.output.split(separator: "\n").first?.split(separator: "#").last else {
      throw ProcessFailure(description: "no viewer address: \(relay.output)")
    }
    return "\(scheme)://\(host):\(ports.http)/#\(key)"
  }

  /// What `--tls` has made, with its key.
  var certificate: String { "\(environment["XDG_STATE_HOME"] ?? "")/porthole/tls.pem" }
  var liveTS: String { "\(page)/live.ts" }

  /// Another relay in the place of one that has ended.
  func startRelayAgain() throws {
    relayCount += 1
    relay = try ProcessRun(
      program("host-relay"), relayOptions, name: "\(name)\(relayCount)", environment: environment,
      in: directory)
  }

  /// `/api/v1/status`, or nil while nobody answers.
  var status: Status? {
    let trust = scheme == "https" ? ["--cacert", certificate] : []
    let words = ["-s", "--max-time", "2", "\(page)/api/v1/status"] + trust
    guard let run = try? ProcessRun.run("curl", words, in: directory), run.exitCode == 0,
      let json = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
    else { return nil }
    return Status(json: json)
  }

  struct Status {
    let json: [String: Any]
    var agent: [String: Any] { json["agent"] as? [String: Any] ?? [:] }
    var state: String { json["state"] as? String ?? "" }
    var text: String { json["text"] as? String ?? "" }
    var lastDeath: String { json["last_death"] as? String ?? "" }
    var agentPID: pid_t? { (agent["pid"] as? Int).map(pid_t.init) }
    func agentFigure(_ name: String) -> Int { agent[name] as? Int ?? 0 }
    /// Of the camera beside the screen.
    var camera: (state: String, text: String) { word(of: "camera") }
    /// Empty before the agent has spoken of it.
    var screen: (state: String, text: String) { word(of: "screen") }
    private func word(of source: String) -> (state: String, text: String) {
      let word = json[source] as? [String: Any] ?? [:]
      return (word["state"] as? String ?? "", word["text"] as? String ?? "")
    }
    /// The state of each sound that the agent has spoken of.
    var sounds: [String: String] {
      (json["sounds"] as? [String: [String: Any]] ?? [:]).compactMapValues {
        $0["state"] as? String
      }
    }
  }

  var agentPID: pid_t? { status?.agentPID }

  /// Waits for a picture; returns the status of that moment.
  @discardableResult
  func waitUntilLive(within limit: Duration = .seconds(15)) throws -> Status {
    try waitUntil("live broadcast", within: limit) {
      if let code = relay.exitCode {
        throw ProcessFailure(description: "the relay ended with \(code): \(relay.errors)")
      }
      guard let status, status.state == "live", status.agentPID != nil else { return nil }
      return status
    }
  }
}

extension Broadcast {
  /// Waits until these sounds stand like that.
  func waitForSounds(_ states: [String: String]) throws {
    try waitUntil(
      "sounds \(states)", within: .seconds(15),
      isTrue: {
        guard let sounds = status?.sounds else { return false }
        return states.allSatisfy { sounds[$0.key] == $0.value }
      })
  }
}

/// The path of one of our programs: of the build that `PORTHOLE_BIN` names, else of the release.
func program(_ name: String) -> String {
  let folder =
    ProcessInfo.processInfo.environment["PORTHOLE_BIN"] ?? packageRoot + "/.build/release"
  return "\(folder)/\(name)"
}

/// Whether the long versions of the tests are wanted.
let isLongRun = ProcessInfo.processInfo.environment["PORTHOLE_LONG"] != nil
