import CaptureSupport
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// `capture-agent --list-sources`.
  @Suite struct SourceLists {
    @Test func `what there is to see and hear is listed by its title, with words that choose it`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        for thing in ["speakers", "microphone", "camera"] { try desktop.show(thing) }
        func list(_ more: String...) throws -> [[String]] {
          let run = try self.list(desktop, more, in: directory)
          #expect(run.exitCode == 0, "\(run.errors)")
          return run.output.split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
          }
        }
        let rows = try list()
        for row in [
          "by the desktop's portal --source portal",
          "monitors: the desktop asks which; cursor hidden, embedded",
          "gst-launch-1.0 --source camera:porthole_camera",
          "Speakers without hardware --audio app:porthole_speakers",
          "gst-launch-1.0 --audio app:porthole_tone",
          "Microphone without hardware --audio mic:porthole_microphone",
          "a pattern, with no desktop at all --source pattern",
        ] {
          #expect(rows.contains(row.split(separator: " ").map(String.init)), "\(row): \(rows)")
        }
        // Each of these words is one that the agent takes.
        let broadcast = try Broadcast(
          in: directory, desktop: desktop,
          agent: ["--audio", "app:porthole_speakers", "--source", "portal"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on"])
        // The permission is that of an agent which listens there.
        let address = "\(broadcast.agentAddress)"
        #expect(try list("--listen", address).contains { $0.contains("allowed") })
        #expect(try !list().contains { $0.contains("allowed") })
        broadcast.end()

        // A daemon that hangs is not waited for.
        let daemon = try desktop.pid(of: "pipewire")
        kill(daemon, SIGSTOP)
        defer { kill(daemon, SIGCONT) }
        let run = try self.list(desktop, in: directory)
        #expect(
          run.exitCode == 69 && run.errors.contains("PipeWire does not answer"), "\(run.errors)")
      }
    }

    @Test func `monitors and kinds are named where the desktop tells of them`() throws {
      try withTestDirectory { directory in
        let desk = try MutterDesk(
          in: directory, size: (1280, 720), beside: [(800, 600)], cursor: "hidden")
        try desk.order("monitors Meta-0")
        let run = try ProcessRun.run(
          program("capture-agent"), ["--list-sources"], environment: desk.environment,
          in: directory)
        #expect(run.exitCode == 0, "\(run.errors)")
        #expect(run.output.contains("    monitor Meta-0 (MetaVendor, 1280x720)\n"), "\(run.output)")
        #expect(run.output.contains("    monitor Meta-1 (MetaVendor, off)\n"), "\(run.output)")
      }
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let run = try ProcessRun.run(
          program("capture-agent"), ["--list-sources"], environment: desk.environment,
          in: directory)
        #expect(run.output.contains("monitors, windows: the desktop asks which"), "\(run.output)")
        #expect(run.output.contains("--source portal:monitor, portal:window"), "\(run.output)")
      }
    }

    @Test func `without PipeWire the list ends with 69 and names it`() throws {
      try withTestDirectory { directory in
        let run = try ProcessRun.run(
          program("capture-agent"), ["--list-sources"],
          environment: ["XDG_RUNTIME_DIR": directory.path, "DBUS_SESSION_BUS_ADDRESS": ""],
          in: directory)
        #expect(run.exitCode == 69)
        #expect(run.errors.contains("PipeWire cannot be reached"), "\(run.errors)")
        // And what there is all the same.
        #expect(run.output.contains("--source pattern"), "\(run.output)")
        #expect(run.errors.contains("scripts/headless-desktop start"), "\(run.errors)")
      }
    }

    private func list(
      _ desktop: DesktopSession, _ more: [String] = [], in directory: TestDirectory
    ) throws -> ProcessRun {
      try ProcessRun.run(
        program("capture-agent"), ["--list-sources"] + more, name: "list",
        environment: desktop.environment, in: directory)
    }
  }
}
