import Foundation
package import TestSupport

/// GNOME's compositor without a screen or a device, and a screencast by its own interface; gone with the value.
package final class MutterDesk {
  /// What a program needs to find it.
  package let environment: [String: String]
  /// The screencast's node, as `--source node:SERIAL` names it.
  package let node: String
  private let daemon: PipeWireDaemon
  private let mutter: ProcessRun
  private let session: ProcessRun
  private let plan: String
  private var lines: [String] = []

  /// `cursor`: hidden, embedded or metadata.
  package init(
    in directory: TestDirectory, size: (width: Int, height: Int), cursor: String
  ) throws {
    daemon = try PipeWireDaemon(in: directory)
    environment = daemon.environment.merging([
      "WAYLAND_DISPLAY": "wayland-mutter", "LIBGL_ALWAYS_SOFTWARE": "1",
      "GSETTINGS_BACKEND": "memory", "GIO_USE_VFS": "local",
      "XDG_DATA_HOME": directory.file("data"), "XDG_CACHE_HOME": directory.file("cache"),
    ]) { $1 }
    mutter = try ProcessRun(
      "mutter",
      [
        "--headless", "--wayland", "--no-x11", "--wayland-display", "wayland-mutter",
        "--virtual-monitor", "\(size.width)x\(size.height)",
      ], environment: environment, in: directory)
    let asked = try ProcessRun.run(
      "gdbus", ["wait", "--session", "--timeout", "30", "org.gnome.Mutter.ScreenCast"],
      environment: environment, in: directory, within: .seconds(40))
    guard asked.exitCode == 0 else { throw ProcessFailure(description: mutter.errors) }
    plan = directory.file("plan")
    try write("", to: plan)
    let session = try ProcessRun(
      "/usr/bin/python3", [packageRoot + "/Tests/Desk/mutter-session.py", plan, cursor],
      name: "session", environment: environment, in: directory)
    self.session = session
    node = try waitUntil("the screencast", within: .seconds(20)) {
      if session.exitCode != nil { throw ProcessFailure(description: session.errors) }
      let words = session.output.split(whereSeparator: \.isWhitespace)
      return words.count > 1 && words[0] == "serial" ? String(words[1]) : nil
    }
  }

  /// Does what a line says that `Tests/Desk/mutter-session.py` tells of.
  package func order(_ line: String) throws {
    lines.append(line)
    try write(lines.map { "\($0)\n" }.joined(), to: plan)
    let count = lines.count
    try waitUntil(line, isTrue: { session.output.split(separator: "\n").count > count })
  }

  /// Moves the pointer into the window and ends that. mutter 43 says at first that its pointer is empty, and
  /// describes it when it changes its look: there.
  package func pointOver(_ window: ProcessRun) throws {
    for x in 500..<504 { try order("pointer \(x) 300") }
    window.end()
    for x in 400..<404 { try order("pointer \(x) 300") }
  }

  /// A window as large as the monitor, as `scripts/desktop/window.py` has them; gone with the value.
  package func show(_ scene: String, in directory: TestDirectory) throws -> ProcessRun {
    let window = try ProcessRun(
      "/usr/bin/python3", [packageRoot + "/scripts/desktop/window.py", scene], name: "window",
      environment: environment, in: directory)
    try waitUntil("the window", isTrue: { window.output.contains("ready") })
    return window
  }
}
