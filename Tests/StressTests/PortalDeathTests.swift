import Foundation
import Glibc
import TestSupport
import Testing

extension Stress {
  /// What the desktop holds for an agent goes with it.
  @Suite struct PortalDeaths {
    private static let deaths = isLongRun ? 50 : 2

    @Test(arguments: [true, false])
    func `an agent that dies leaves no node, no permission in use and no file on its desktop`(
      asChild: Bool
    ) throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        try desktop.show("window=counter")
        let idle = try Screencasts(of: desktop, in: directory)
        let faults = desktop.environment.merging(["PORTHOLE_FAULTS": "1"]) { $1 }
        let pair = try Pair(in: directory, faults: faults, asChild: asChild, size: nil)
        try waitUntil("live broadcast", within: .seconds(20), isTrue: { pair.state == "live" })
        let viewer = try Viewer(port: pair.consumers)
        let folder = try #require(desktop.environment["XDG_RUNTIME_DIR"]) + "/porthole"
        let files = try fileNames(in: folder)
        #expect(idle.sessions == 0 && idle.agents == 0)

        for death in 1...Self.deaths {
          let agent = try waitUntil("agent") { pair.agentPID }
          let one = try Screencasts(of: desktop, in: directory)
          #expect(one.sessions == 1 && one.agents == 1, "before death \(death)")
          kill(agent, SIGPWR)
          // A tick of its own makes allocations, once a second.
          try waitUntil("death \(death)", within: .seconds(5)) {
            try viewer.read()
            return pair.unit?.exitCode == 86 || kill(agent, 0) == -1 ? () : nil
          }
          if !asChild {
            try waitUntil("desktop as before", within: .seconds(5)) {
              try Screencasts(of: desktop, in: directory) == idle ? () : nil
            }
          }
          try pair.restartAgent()
          let keyframes = viewer.keyframes
          try waitUntil(
            "next picture", within: .seconds(10),
            isTrue: {
              try viewer.read()
              return viewer.keyframes > keyframes
            })
        }

        #expect(viewer.isConnected && viewer.brokenPackets == 0)
        #expect(pair.lastDeath.contains("memory limit"))
        #expect(pair.status?["deaths"] as? Int == Self.deaths)
        #expect(try fileNames(in: folder) == files)
      }
    }
  }
}

/// The screencasts of a desktop, as its PipeWire and its portal tell.
private struct Screencasts: Equatable {
  /// Names of all nodes.
  let nodes: [String]
  /// Of the portal, and of its backend.
  let sessions: Int
  let backendSessions: Int

  var agents: Int { nodes.filter { $0 == "capture-agent" }.count }

  init(of desktop: DesktopSession, in directory: TestDirectory) throws {
    // What changes while it is dumped makes a second list.
    let objects = try waitUntil("one list of objects") {
      let dump = try ProcessRun.run("pw-dump", environment: desktop.environment, in: directory)
      return try? JSONSerialization.jsonObject(with: Data(dump.output.utf8)) as? [[String: Any]]
    }
    nodes = objects.compactMap { object in
      guard object["type"] as? String == "PipeWire:Interface:Node" else { return nil }
      let info = object["info"] as? [String: Any]
      return (info?["props"] as? [String: Any])?["node.name"] as? String
    }.sorted()
    func sessionCount(_ name: String) throws -> Int {
      let run = try ProcessRun.run(
        "gdbus",
        [
          "introspect", "--session", "--recurse", "--dest", "org.freedesktop.\(name)",
          "--object-path", "/org/freedesktop/portal/desktop",
        ], environment: desktop.environment, in: directory)
      return run.output.split(separator: "\n").filter { $0.contains("/session/") }
        .filter { $0.split(separator: "/").count == 8 }.count
    }
    sessions = try sessionCount("portal.Desktop")
    backendSessions = try sessionCount("impl.portal.desktop.wlr")
  }
}
