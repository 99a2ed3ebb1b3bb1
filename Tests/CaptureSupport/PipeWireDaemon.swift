import Glibc
package import Posix
package import TestSupport

/// A PipeWire daemon of one test with its session manager, gone with the value.
package final class PipeWireDaemon {
  package let daemon: ProcessRun
  /// What a program needs to find it.
  package let environment: [String: String]
  private let bus: ProcessRun
  private let sessionManager: ProcessRun
  private let socketPath: String

  package init(in directory: TestDirectory) throws {
    // The session manager does not run without one.
    bus = try startBus(at: directory.file("bus"), in: directory)
    environment = [
      "XDG_RUNTIME_DIR": directory.path, "XDG_STATE_HOME": directory.file("state"),
      "XDG_CONFIG_HOME": directory.file("config"), "PIPEWIRE_RUNTIME_DIR": "",
      "PIPEWIRE_REMOTE": "", "DISPLAY": "",
      "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(directory.file("bus"))",
    ]
    let socketPath = directory.file("pipewire-0")
    self.socketPath = socketPath
    daemon = try ProcessRun("pipewire", environment: environment, in: directory)
    try waitUntil("PipeWire's socket") { access(socketPath, F_OK) == 0 ? () : nil }
    sessionManager = try ProcessRun("wireplumber", environment: environment, in: directory)
  }

  /// Has the session manager link nobody, or go on.
  package func holdSessionManager(_ isHeld: Bool) {
    sessionManager.signal(isHeld ? SIGSTOP : SIGCONT)
  }

  /// A connection for a client, as the portal hands one out.
  package func connect() throws -> OwnedFD { try connectToPipeWire(at: socketPath) }
}

/// A bus of D-Bus, which starts nothing by itself.
func startBus(at path: String, in directory: TestDirectory) throws -> ProcessRun {
  let configuration = """
    <busconfig><type>session</type><listen>unix:path=\(path)</listen>
    <policy context="default"><allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
    """
  try write(configuration, to: "\(path).conf")
  let bus = try ProcessRun(
    "dbus-daemon", ["--config-file=\(path).conf", "--nofork", "--nopidfile"], in: directory)
  try waitUntil("session bus") { access(path, F_OK) == 0 ? () : nil }
  return bus
}

/// A client's connection to the daemon whose socket that is.
package func connectToPipeWire(at socketPath: String) throws -> OwnedFD {
  let socket = OwnedFD(
    try check(
      Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0), "socket"))
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
  let length = socklen_t(MemoryLayout<sockaddr_un>.size)
  try check(
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket.raw, $0, length)
      }
    }, "connect")
  return socket
}

package func write(_ text: String, to path: String) throws {
  let file = OwnedFD(try check(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600), "open"))
  try check(
    Array(text.utf8).withUnsafeBytes { Glibc.write(file.raw, $0.baseAddress, $0.count) }, "write")
}
