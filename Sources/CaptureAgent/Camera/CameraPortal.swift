import Glibc
import PipeWire
import Posix
import Report

/// The Camera portal's conversation: AccessCamera, which asks the user the first time, then
/// OpenPipeWireRemote. Loop thread only.
///
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Camera.html
final class CameraPortal {
  enum Answer: ~Copyable {
    /// A connection to PipeWire that shows cameras alone.
    case granted(OwnedFD)
    /// Nobody here asks: no session bus, no portal, or none with cameras.
    case absent
    case ended(SourceEnd)
  }

  private static let portal = "org.freedesktop.portal.Desktop"
  private static let object = "/org/freedesktop/portal/desktop"
  private static let camera = "org.freedesktop.portal.Camera"
  private static let request = "org.freedesktop.portal.Request"
  // A portal that is there answers at once; the user may think.
  private static let stepPatience = Duration.seconds(10)
  private static let userPatience = Duration.seconds(120)

  private let loop: Loop
  private let onAnswer: (consuming Answer) -> Void
  private var bus: Bus?
  private var deadline: TimerSource?
  private var token = ""
  private var requestPath: String?
  private var hasAnswered = false

  /// `onAnswer` is called once, from the loop, inside a callback of the bus: do not drop the portal there.
  init(loop: Loop, onAnswer: @escaping (consuming Answer) -> Void) {
    self.loop = loop
    self.onAnswer = onAnswer
  }

  func start() {
    do {
      let bus = try Bus(loop: loop) { [unowned self] _ in answer(.absent) }
      self.bus = bus
      deadline = try loop.addTimer { [unowned self] in
        end(.notAllowed, "nobody answered the desktop's question about the camera")
      }
      try bus.watchSignal("Response", of: Self.request, from: Self.portal) {
        [unowned self] path, values in respond(path, values)
      }
      // A desktop without it has no such interface.
      call("GetAll", of: "org.freedesktop.DBus.Properties", [.string(Self.camera)]) {
        [unowned self] reply in
        guard case .success(let values) = reply, values.first?["version"] != nil else {
          return answer(.absent)
        }
        ask()
      }
    } catch {
      answer(.absent)
    }
  }

  /// Takes back a question that stands.
  func close() {
    deadline = nil
    if let requestPath {
      try? bus?.send("Close", of: Self.request, at: requestPath, on: Self.portal)
    }
    requestPath = nil
    bus = nil
  }

  private func ask() {
    token = "porthole_" + String(UInt64.random(in: .min ... .max), radix: 36)
    deadline?.arm(after: Self.userPatience)
    call(
      "AccessCamera", of: Self.camera, [.options(["handle_token": .string(token)])]
    ) { [unowned self] reply in
      switch reply {
      case .success(let values): requestPath = values.first?.text
      case .failure(let error): refuse(error)
      }
    }
  }

  private func respond(_ path: String, _ values: [BusValue]) {
    guard !token.isEmpty, path.hasSuffix("/\(token)"), let code = values.first?.unsigned else {
      return
    }
    requestPath = nil
    deadline?.disarm()
    switch code {
    case 0: openRemote()
    case 1: end(.notAllowed, "the user declined to share the camera")
    default: end(.notAllowed, "the desktop refused to share the camera: see its portal's log")
    }
  }

  private func openRemote() {
    call("OpenPipeWireRemote", of: Self.camera, [.options([:])]) { [unowned self] reply in
      switch reply {
      case .failure(let error): refuse(error)
      case .success(let values):
        guard case .number(let lent) = values.first else {
          return end(.unavailable, "the Camera portal gave no connection to PipeWire")
        }
        let fd = fcntl(Int32(truncatingIfNeeded: lent), F_DUPFD_CLOEXEC, 3)
        guard fd >= 0 else { return end(.unavailable, "\(PosixError("F_DUPFD_CLOEXEC"))") }
        answer(.granted(OwnedFD(fd)))
      }
    }
  }

  private func call(
    _ member: String, of interface: String, _ arguments: [BusValue],
    onReply: @escaping (Bus.Reply) -> Void
  ) {
    do throws(BusError) {
      try bus?.call(
        member, of: interface, at: Self.object, on: Self.portal, arguments,
        timeout: Self.stepPatience, onReply: onReply)
    } catch {
      refuse(error)
    }
  }

  private func refuse(_ error: BusError) {
    switch error.name {
    case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.portal.Error.NotAllowed":
      end(.notAllowed, "the desktop does not let cameras be used: \(error.message)")
    default: end(.unavailable, "the Camera portal failed: \(error)")
    }
  }

  private func end(_ code: ExitCode, _ text: String) {
    answer(.ended(SourceEnd(code: code, text: text)))
  }

  private func answer(_ answer: consuming Answer) {
    guard !hasAnswered else { return }
    hasAnswered = true
    deadline?.disarm()
    onAnswer(answer)
  }
}
