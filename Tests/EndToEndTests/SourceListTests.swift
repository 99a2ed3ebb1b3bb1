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
        func list() throws -> [[String]] {
          let run = try self.list(desktop, in: directory)
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
        ] {
          #expect(rows.contains(row.split(separator: " ").map(String.init)), "\(row): \(rows)")
        }
        // Each of these words is one that the agent takes.
        let broadcast = try Broadcast(
          in: directory, desktop: desktop,
          agent: ["--audio", "app:porthole_speakers", "--source", "portal"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on"])
        #expect(try list().contains { $0.contains("allowed") })
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

    @Test func `without PipeWire the list ends with 69 and names it`() throws {
      try withTestDirectory { directory in
        let run = try ProcessRun.run(
          program("capture-agent"), ["--list-sources"],
          environment: ["XDG_RUNTIME_DIR": directory.path, "DBUS_SESSION_BUS_ADDRESS": ""],
          in: directory)
        #expect(run.exitCode == 69)
        #expect(run.errors.contains("PipeWire cannot be reached"), "\(run.errors)")
      }
    }

    private func list(_ desktop: DesktopSession, in directory: TestDirectory) throws -> ProcessRun {
      try ProcessRun.run(
        program("capture-agent"), ["--list-sources"], name: "list",
        environment: desktop.environment, in: directory)
    }
  }
}
