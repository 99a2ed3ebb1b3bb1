import CaptureSupport
import Glibc
import Report
import TestSupport
import Testing

@testable import CaptureAgent

/// The portal's whole conversation, on a real desktop with a real backend.
@Suite(.serialized, .timeLimit(.minutes(3))) struct PortalTests {
  @Test func `a screen is granted, captured, kept for the next start, and granted again`() throws {
    try withDesktop { desktop, directory in
      try desktop.show("window=counter")
      let token = RestoreToken(path: directory.file("state/token"))
      for _ in 0..<2 {
        let scene = try CaptureScene()
        start(scene, token: token)
        try scene.run(until: "ten frames") { scene.seen.count >= 10 }
        #expect(scene.sizes == [[1280, 720]])
        #expect(scene.seen.allSatisfy { $0.width == 1280 && $0.height == 720 })
        #expect(token.load() != nil)
        scene.stop()
        #expect(!scene.isAlive)
      }
    }
  }

  @Test func `a token that the portal cannot read costs a question, not the start`() throws {
    try withDesktop { desktop, directory in
      try desktop.show("window=counter")
      let token = RestoreToken(path: directory.file("token"))
      try token.save("no token of this desktop")
      let scene = try CaptureScene()
      start(scene, token: token)
      try scene.run(until: "a frame") { !scene.seen.isEmpty }
      #expect(token.load() != "no token of this desktop")
      scene.stop()
    }
  }

  @Test(arguments: [
    ("wlr", ExitCode.unavailable, "node is gone"), ("sway", .unavailable, "node is gone"),
    ("screencopy", .unavailable, "node is gone"),
    ("pipewire", .unavailable, "PipeWire's daemon"), ("dbus", .unavailable, "session bus"),
    ("wireplumber", .unavailable, "session manager"),
  ])
  func `what dies under a running capture is told from the rest, and no camera steps in`(
    _ victim: String, _ code: ExitCode, _ words: String
  ) throws {
    try withDesktop { desktop, _ in
      try desktop.show("window=counter")
      try desktop.show("camera")
      let scene = try CaptureScene()
      start(scene)
      try scene.run(until: "a frame") { !scene.seen.isEmpty }
      kill(try desktop.pid(of: victim), SIGKILL)
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == code)
      #expect(scene.end?.text.contains(words) == true, "\(String(describing: scene.end))")
      #expect(scene.sizes == [[1280, 720]])
      #expect(!scene.isAlive)
    }
  }

  /// Its portal asked all the same, and never answered: "nobody answered" after two minutes.
  @Test func `without PipeWire behind a living portal the end names it at once`() throws {
    try withDesktop { desktop, directory in
      kill(try desktop.pid(of: "pipewire"), SIGKILL)
      try waitUntil(
        "PipeWire's end",
        isTrue: {
          try ProcessRun.run(
            "pw-cli", ["info", "0"], environment: desktop.environment, in: directory
          )
          .exitCode != 0
        })
      let scene = try CaptureScene()
      start(scene)
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(scene.end?.text.contains("PipeWire cannot be reached") == true)
      #expect(!scene.isAlive)
    }
  }

  @Test func `a permission that is taken back is the user's end, and no failure`() throws {
    try withDesktop { desktop, directory in
      try desktop.show("window=counter")
      let monitor = try ProcessRun(
        "dbus-monitor", ["interface='org.freedesktop.portal.Request'"],
        environment: desktop.environment, in: directory)
      defer { monitor.end() }
      try waitUntil("the monitor") { monitor.output.contains("NameLost") ? () : nil }
      let scene = try CaptureScene()
      start(scene)
      try scene.run(until: "a frame") { !scene.seen.isEmpty }
      let session = try #require(
        monitor.output.split(separator: "\"").first {
          $0.hasPrefix("/org/freedesktop/portal/desktop/session/")
        })
      // Nobody but the portal is believed, so another one takes its name.
      kill(try desktop.pid(of: "portal"), SIGKILL)
      let closing = try ProcessRun.run(
        "/usr/bin/python3", ["-c", Self.closesSession, String(session)],
        environment: desktop.environment, in: directory)
      #expect(closing.exitCode == 0, "\(closing.errors)")
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == .finished)
      #expect(scene.end?.word == .revoked)
    }
  }

  /// A portal that does nothing but close a session.
  private static let closesSession = """
    import sys
    from gi.repository import Gio, GLib
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    name = GLib.Variant("(su)", ("org.freedesktop.portal.Desktop", 4))
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                  "RequestName", name, None, 0, 5000, None)
    bus.emit_signal(None, sys.argv[1], "org.freedesktop.portal.Session", "Closed",
                    GLib.Variant("(a{sv})", ({},)))
    bus.flush_sync(None)
    """

  @Test func `a user who declines is told from a desktop that cannot ask`() throws {
    try withDesktop { desktop, directory in
      try killBackend(of: desktop, in: directory)
      let broken = try CaptureScene()
      start(broken)
      try broken.run(until: "the end") { broken.end != nil }
      #expect(broken.end?.code == .unavailable)
      #expect(broken.end?.text.contains("backend") == true)

      let configuration = directory.file("declining")
      try write("[screencast]\nchooser_type=simple\nchooser_cmd=/bin/false\n", to: configuration)
      let backend = try ProcessRun(
        "/usr/libexec/xdg-desktop-portal-wlr", ["-c", configuration],
        environment: desktop.environment.merging(["WAYLAND_DISPLAY": "screencopy"]) { $1 },
        in: directory)
      defer { backend.end() }
      // Until the backend is on the bus again, it is still the one that cannot ask; a portal that asks one
      // that has just come may wait for it in vain, and a call of ours is given up after 10 s.
      try waitUntil(
        "an answer from the user", within: .seconds(40),
        isTrue: {
          let scene = try CaptureScene()
          start(scene)
          try scene.run(until: "the end", within: .seconds(15)) { scene.end != nil }
          return scene.end?.code == .notAllowed && scene.end?.text.contains("declined") == true
        })
    }
  }

  // It used to be waited for to the end of the user's patience, and then taken for the user's no.
  @Test func `a portal that dies while the user is asked is missing, and no refusal`() throws {
    try withDesktop { desktop, directory in
      let asked = directory.file("asked")
      try killBackend(of: desktop, in: directory)
      let configuration = directory.file("asking")
      // A user who thinks; not for ever, for nobody ends this one.
      try write(
        "[screencast]\nchooser_type=simple\nchooser_cmd=touch \(asked); sleep 15\n",
        to: configuration)
      let backend = try ProcessRun(
        "/usr/libexec/xdg-desktop-portal-wlr", ["-c", configuration],
        environment: desktop.environment.merging(["WAYLAND_DISPLAY": "screencopy"]) { $1 },
        in: directory)
      defer { backend.end() }
      // Until the backend is on the bus again, there is nobody to ask.
      let scene = try waitUntil("a question", within: .seconds(40)) {
        let scene = try CaptureScene()
        start(scene)
        try scene.run(until: "an answer", within: .seconds(15)) {
          scene.end != nil || access(asked, F_OK) == 0
        }
        return scene.end == nil ? scene : nil
      }
      kill(try desktop.pid(of: "portal"), SIGKILL)
      try scene.run(until: "the end", within: .seconds(2)) { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(scene.end?.text.contains("went away") == true, "\(String(describing: scene.end))")
    }
  }

  @Test func `a bus without a portal, and no bus at all, are named`() throws {
    try withDesktop { desktop, directory in
      kill(try desktop.pid(of: "portal"), SIGKILL)
      let scene = try CaptureScene()
      start(scene)
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(scene.end?.text.contains("xdg-desktop-portal") == true)

      setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=\(directory.file("nowhere"))", 1)
      let other = try CaptureScene()
      start(other)
      try other.run(until: "the end") { other.end != nil }
      #expect(other.end?.code == .unavailable)
      #expect(other.end?.text.contains("no session bus") == true)
    }
  }

  /// Its name is free afterwards: another backend that starts too early finds it taken, and ends.
  private func killBackend(of desktop: DesktopSession, in directory: TestDirectory) throws {
    kill(try desktop.pid(of: "wlr"), SIGKILL)
    let words = [
      "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path",
      "/org/freedesktop/DBus", "--method", "org.freedesktop.DBus.NameHasOwner",
      "org.freedesktop.impl.portal.desktop.wlr",
    ]
    try waitUntil(
      "the backend's end",
      isTrue: {
        try ProcessRun.run("gdbus", words, environment: desktop.environment, in: directory)
          .output.contains("false")
      })
  }

  private func start(_ scene: CaptureScene, token: RestoreToken? = nil) {
    scene.start { loop, slot, onEvent in
      var wishes = ScreenCastPortal.Wishes()
      wishes.token = token
      return PortalSource(
        loop: loop, slot: slot, wishes: wishes, frameRate: 30, onEvent: onEvent)
    }
  }

  /// The bus is found by the environment, which nothing but this suite looks at.
  private func withDesktop(_ body: (DesktopSession, TestDirectory) throws -> Void) throws {
    try withTestDirectory { directory in
      let desktop = try DesktopSession(in: directory, size: (1280, 720))
      let names = ["DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_RUNTIME_DIR", "PIPEWIRE_REMOTE"]
      for name in names { setenv(name, try #require(desktop.environment[name], "\(name)"), 1) }
      defer { for name in names { unsetenv(name) } }
      try body(desktop, directory)
    }
  }
}
