import Foundation
package import TestSupport

/// GNOME's compositor with virtual monitors, Meta-0 and so on, and no device, and a screencast by its own
/// interface, of Meta-0 at first; gone with the value.
package final class MutterDesk {
  /// What a program needs to find it.
  package let environment: [String: String]
  private let daemon: PipeWireDaemon
  private let mutter: ProcessRun
  private let session: ProcessRun
  private let plan: String
  private var lines: [String] = []

  /// `cursor`: hidden, embedded or metadata. `beside`: how large the other monitors are.
  package init(
    in directory: TestDirectory, size: (width: Int, height: Int),
    beside others: [(width: Int, height: Int)] = [], cursor: String
  ) throws {
    daemon = try PipeWireDaemon(in: directory)
    environment = daemon.environment.merging([
      "WAYLAND_DISPLAY": "wayland-mutter", "LIBGL_ALWAYS_SOFTWARE": "1",
      "GSETTINGS_BACKEND": "memory", "GIO_USE_VFS": "local",
      "XDG_DATA_HOME": directory.file("data"), "XDG_CACHE_HOME": directory.file("cache"),
    ]) { $1 }
    mutter = try ProcessRun(
      "mutter",
      ["--headless", "--wayland", "--no-x11", "--wayland-display", "wayland-mutter"]
        + ([size] + others).flatMap { ["--virtual-monitor", "\($0.width)x\($0.height)"] },
      environment: environment, in: directory)
    let asked = try ProcessRun.run(
      "gdbus", ["wait", "--session", "--timeout", "30", "org.gnome.Mutter.ScreenCast"],
      environment: environment, in: directory, within: .seconds(40))
    guard asked.exitCode == 0 else { throw ProcessFailure(description: mutter.errors) }
    plan = directory.file("mutter-plan")
    try write("", to: plan)
    session = try ProcessRun(
      "/usr/bin/python3", [packageRoot + "/Tests/Desk/mutter-session.py", plan, cursor],
      name: "session", environment: environment, in: directory)
    _ = try waitForNode(number: 0)
  }

  /// The node of the newest screencast, as `--source node:SERIAL` names it.
  package var node: String { said("serial").last ?? "" }

  /// Begins another screencast, of a monitor or of the `window` that has the focus, and returns its node.
  package func record(_ what: String) throws -> String {
    let count = said("serial").count
    try order("record \(what)")
    return try waitForNode(number: count)
  }

  private func waitForNode(number: Int) throws -> String {
    try waitUntil("a screencast", within: .seconds(20)) {
      if session.exitCode != nil { throw ProcessFailure(description: session.errors) }
      let nodes = said("serial")
      return nodes.count > number ? nodes[number] : nil
    }
  }

  /// What stands behind this word on each line that begins with it.
  private func said(_ word: String) -> [String] {
    session.output.split(separator: "\n").filter { $0.hasPrefix("\(word) ") }.map {
      String($0.dropFirst(word.count + 1))
    }
  }

  /// Does what a line says that `Tests/Desk/mutter-session.py` tells of.
  package func order(_ line: String) throws {
    lines.append(line)
    try write(lines.map { "\($0)\n" }.joined(), to: plan)
    try waitUntil(
      line, within: .seconds(15),
      isTrue: {
        if session.exitCode != nil { throw ProcessFailure(description: session.errors) }
        return said("did").count >= lines.count
      })
  }

  /// Moves the pointer into the window and ends that. mutter 43 says at first that its pointer is empty, and
  /// describes it when it changes its look: there.
  package func pointOver(_ window: ProcessRun) throws {
    for x in 500..<504 { try order("pointer \(x) 300") }
    window.end()
    for x in 400..<404 { try order("pointer \(x) 300") }
  }

  /// A window of 1280x720, or as the words say, of `scripts/desktop/window.py`; gone with the value.
  package func show(_ words: String..., in directory: TestDirectory) throws -> ProcessRun {
    let window = try ProcessRun(
      "/usr/bin/python3", [packageRoot + "/scripts/desktop/window.py"] + words, name: "window",
      environment: environment, in: directory)
    try waitUntil("the window", isTrue: { window.output.contains("ready") })
    return window
  }
}
