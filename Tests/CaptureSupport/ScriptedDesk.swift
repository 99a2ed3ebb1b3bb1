import Foundation
package import TestSupport

/// A session bus with PipeWire and the real portal, whose backend does as a test says; gone with the value.
package final class ScriptedDesk {
  /// What a program needs to find it.
  package let environment: [String: String]
  /// The frontend, which is xdg-desktop-portal itself.
  package let portal: ProcessRun
  package let backend: ProcessRun
  private let directory: TestDirectory
  /// nil: somebody else's.
  private let daemon: PipeWireDaemon?
  private let permissions: ProcessRun
  private let plan: String

  /// `cursorModes` as the ScreenCast portal has them: 1 hidden, 2 embedded, 4 metadata. `desk` has a session
  /// bus and PipeWire already.
  package init(
    in directory: TestDirectory, cursorModes: Int = 3, before desk: MutterDesk? = nil
  ) throws {
    self.directory = directory
    daemon = desk == nil ? try PipeWireDaemon(in: directory) : nil
    let portals = directory.file("portals")
    try FileManager.default.createDirectory(atPath: portals, withIntermediateDirectories: true)
    let implemented = ["ScreenCast", "Inhibit", "Access"].map {
      "org.freedesktop.impl.portal.\($0);"
    }
    try write(
      """
      [portal]
      DBusName=org.freedesktop.impl.portal.desktop.test
      Interfaces=\(implemented.joined())
      UseIn=test

      """, to: "\(portals)/test.portal")
    environment = (daemon?.environment ?? desk?.environment ?? [:]).merging([
      "XDG_DESKTOP_PORTAL_DIR": portals, "XDG_CURRENT_DESKTOP": "test",
      "XDG_DATA_HOME": directory.file("data"), "GIO_USE_VFS": "local",
      "GSETTINGS_BACKEND": "memory",
    ]) { $1 }
    plan = directory.file("plan")
    try write("answer accept\n", to: plan)
    permissions = try ProcessRun(
      "/usr/libexec/xdg-permission-store", environment: environment, in: directory)
    let backend = try ProcessRun(
      "/usr/bin/python3",
      [packageRoot + "/Tests/Desk/portal-backend.py", plan, "\(cursorModes)"],
      name: "backend", environment: environment, in: directory)
    self.backend = backend
    try waitUntil("the portal's backend") { backend.output.contains("ready") ? () : nil }
    portal = try ProcessRun(
      "/usr/libexec/xdg-desktop-portal", environment: environment, in: directory)
    let asked = [
      "call", "--session", "--dest", "org.freedesktop.portal.Desktop", "--object-path",
      "/org/freedesktop/portal/desktop", "--method", "org.freedesktop.DBus.Properties.Get",
      "org.freedesktop.portal.ScreenCast", "AvailableSourceTypes",
    ]
    try waitUntil(
      "the portal",
      isTrue: {
        try ProcessRun.run("gdbus", asked, environment: environment, in: directory).exitCode == 0
      })
  }

  /// How the backend answers from now on: the lines that `Tests/Desk/portal-backend.py` tells of.
  package func answer(_ lines: String...) throws { try answer(lines) }

  package func answer(_ lines: [String]) throws {
    try write(lines.map { "\($0)\n" }.joined(), to: plan)
  }

  /// What was called at the backend, and what it answered.
  package var calls: [String] { backend.output.split(separator: "\n").map(String.init) }

  /// The starts among them, as `Start accept asked`.
  package var starts: [String] { calls.filter { $0.hasPrefix("Start ") } }

  /// The user takes back what is shared.
  package func revoke() { backend.signal(SIGUSR1) }

  /// A screen of 640x480 in one colour, which changes 30 times a second; gone with the value. It now and then
  /// has nothing for a second consumer.
  package func screen(_ name: String, color: UInt32 = 0xffff_0000) throws -> ProcessRun {
    let caps = "video/x-raw,format=BGRx,width=640,height=480,framerate=30/1"
    let properties = "props,media.class=Video/Source,node.name=\(name)"
    let screen = try ProcessRun(
      "gst-launch-1.0",
      [
        "-q", "videotestsrc", "is-live=true", "pattern=solid-color", "foreground-color=\(color)",
        "!", caps, "!", "pipewiresink", "mode=provide", "stream-properties=\(properties)",
      ], name: name, environment: environment, in: directory)
    try waitUntil("node \(name)") { try node(named: name).map { _ in () } }
    return screen
  }

  /// A camera that shows bars of colour: grey at the left and blue at the right, 30 times a second, made of
  /// `format` by `coder`, if there is one.
  package func camera(
    _ name: String, format: String, size: (Int, Int), coder: [String] = []
  ) throws -> ProcessRun {
    let caps = "video/x-raw,format=\(format),width=\(size.0),height=\(size.1),framerate=30/1"
    let properties = "props,media.class=Video/Source,media.role=Camera,node.name=\(name)"
    let camera = try ProcessRun(
      "gst-launch-1.0",
      [
        "-q", "videotestsrc", "is-live=true", "pattern=smpte75", "!", caps, "!",
      ] + coder + ["pipewiresink", "mode=provide", "stream-properties=\(properties)"], name: name,
      environment: environment, in: directory)
    try waitUntil("node \(name)") { try node(named: name).map { _ in () } }
    return camera
  }

  /// The id and the serial of a node; nil while there is none.
  package func node(named name: String) throws -> (id: Int, serial: Int)? {
    let dump = try ProcessRun.run("pw-dump", environment: environment, in: directory)
    guard
      let things = try? JSONSerialization.jsonObject(with: Data(dump.output.utf8))
        as? [[String: Any]]
    else { return nil }
    for thing in things {
      let properties = (thing["info"] as? [String: Any])?["props"] as? [String: Any]
      if properties?["node.name"] as? String == name, let id = thing["id"] as? Int,
        let serial = properties?["object.serial"] as? Int
      {
        return (id, serial)
      }
    }
    return nil
  }
}
