import Glibc
import PipeWire
import Posix
import Report
import Wire

/// The ScreenCast portal's conversation: CreateSession, SelectSources, Start, OpenPipeWireRemote,
/// each bounded in time. Loop thread only.
///
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.ScreenCast.html
final class ScreenCastPortal {
  /// What the conversation is about.
  struct Wishes {
    /// What may be picked; nil: a monitor or a window.
    var kind: SourceKind?
    /// How the pointer gets into the pictures.
    var cursor = Options.CursorWish.embedded
    /// How long the user may think about the question, which is the desktop's to show.
    var patience = Duration.seconds(120)
    /// Where the permission is kept; nil asks each time.
    var token: RestoreToken?

    init() {}

    init(_ options: Options) {
      cursor = options.cursor
      if case .portal(let kind) = options.source { self.kind = kind }
      token =
        options.restoreFile.map { RestoreToken(path: $0) }
        ?? RestoreToken.standard(for: kind, port: options.listen.port)
    }
  }

  /// A screencast that may be captured.
  struct Grant: ~Copyable {
    let remote: OwnedFD
    let node: GrantedNode
    /// Whether the desktop describes the pointer, and does not draw it.
    let hasCursor: Bool
  }

  private static let portal = "org.freedesktop.portal.Desktop"
  /// What the desktops' backends are called, each with a name of its own below it.
  private static let backends = "org.freedesktop.impl.portal.desktop"
  private static let object = "/org/freedesktop/portal/desktop"
  private static let screenCast = "org.freedesktop.portal.ScreenCast"
  private static let request = "org.freedesktop.portal.Request"
  private static let session = "org.freedesktop.portal.Session"
  // The user is asked at Start, or by xdg-desktop-portal-wlr at SelectSources; at the other steps a
  // desktop under load takes a second or two.
  private static let stepPatience = Duration.seconds(10)
  // What is there is picked from; a virtual monitor is made for who asks for one.
  private static let usualTypes = SourceKind.monitor.rawValue | SourceKind.window.rawValue
  private static let persistUntilRevoked: UInt32 = 2
  // persist_mode and restore_token came with this version of the interface.
  private static let persistVersion: UInt32 = 4

  private let loop: Loop
  private let wishes: Wishes
  private let onGrant: (consuming Grant) -> Void
  private let onEnd: (SourceEnd) -> Void
  private var bus: Bus?
  private var step: Step?
  private var deadline: TimerSource?
  private var sessionPath: String?
  private var offered = BusValue.options([:])
  private var cursorMode: CursorMode?
  private var restoreToken: String?
  private var isGranted = false
  /// Whether a backend went away since the conversation began; another desktop part's, perhaps.
  private(set) var hasLostBackend = false

  /// A request whose Response is awaited: the last part of its path, and what it is for.
  private struct Step {
    let name: String
    let token: String
    let patience: Duration
    let onResponse: (BusValue) -> Void
    var path: String?
  }

  /// Either closure is called from the loop, inside a callback of the bus: do not drop the portal
  /// there. An end may also come after the grant, when the permission is taken back.
  init(
    loop: Loop, wishes: Wishes, onGrant: @escaping (consuming Grant) -> Void,
    onEnd: @escaping (SourceEnd) -> Void
  ) {
    self.loop = loop
    self.wishes = wishes
    self.onGrant = onGrant
    self.onEnd = onEnd
  }

  /// Begins the conversation.
  func start() {
    do throws(BusError) {
      let bus = try Bus(loop: loop) { [unowned self] error in
        end(
          .unavailable, "the session bus is gone (\(error)): the screen's permission went with it")
      }
      self.bus = bus
      do {
        deadline = try loop.addTimer { [unowned self] in runOut() }
      } catch {
        throw BusError("the loop", -error.code)
      }
      try bus.watchSignal("Response", of: Self.request, from: Self.portal) {
        [unowned self] path, values in respond(path, values)
      }
      try bus.watchSignal("Closed", of: Self.session, from: Self.portal) {
        [unowned self] path, _ in
        guard path == sessionPath else { return }
        end(.finished, "the screen's permission was taken back", word: .revoked)
      }
      try bus.watchLoss(of: Self.portal) { [unowned self] in
        // Under a stream that runs it is the node's end that counts.
        guard !isGranted else { return }
        end(.unavailable, "the desktop portal, xdg-desktop-portal, went away while it was asked")
      }
      try bus.watchLoss(of: Self.backends, isFamily: true) { [unowned self] in
        hasLostBackend = true
      }
      restoreToken = wishes.token?.load()
      readProperties()
    } catch {
      end(
        .unavailable,
        "no session bus (\(error)): run inside a desktop session, or set DBUS_SESSION_BUS_ADDRESS")
    }
  }

  /// Ends the session at the portal. The stream must have been stopped before: a backend may
  /// otherwise use what it just freed (xdg-desktop-portal-wlr 0.7.0).
  func close() {
    deadline?.disarm()
    // A bus that refuses is closed next, which ends the session as well.
    if let path = step?.path {
      try? bus?.send("Close", of: Self.request, at: path, on: Self.portal)
    }
    if let sessionPath {
      try? bus?.send("Close", of: Self.session, at: sessionPath, on: Self.portal)
    }
    step = nil
    sessionPath = nil
    bus = nil
  }

  // MARK: the steps, in their order

  private func readProperties() {
    call(
      "GetAll", of: "org.freedesktop.DBus.Properties", [.string(Self.screenCast)],
      patience: Self.stepPatience
    ) { [unowned self] values in
      offered = values.first ?? offered
      createSession()
    }
  }

  private func createSession() {
    ask(
      "CreateSession", [],
      options: ["session_handle_token": .string(Self.makeToken())], patience: Self.stepPatience
    ) { [unowned self] results in
      guard let path = results["session_handle"]?.text else {
        return end(.unavailable, "the ScreenCast portal gave no session")
      }
      sessionPath = path
      selectSources()
    }
  }

  private func selectSources() {
    guard let sessionPath else { return }
    let available = offered["AvailableSourceTypes"]?.unsigned ?? 0
    if let kind = wishes.kind, available & kind.rawValue == 0 {
      return end(
        .unavailable,
        "the desktop's portal has no \(kind.plural) to share, only \(SourceKind.words(available))")
    }
    let known = available & (wishes.kind?.rawValue ?? Self.usualTypes)
    var options: [String: BusValue] = [
      "types": .uint32(known == 0 ? SourceKind.monitor.rawValue : known), "multiple": .bool(false),
    ]
    cursorMode = CursorMode(wishes.cursor, among: offered["AvailableCursorModes"]?.unsigned ?? 0)
    if let cursorMode { options["cursor_mode"] = .uint32(cursorMode.rawValue) }
    if wishes.cursor == .drawn, cursorMode != .metadata {
      Log.note(
        "the desktop cannot leave the cursor to the agent: "
          + (cursorMode == .embedded ? "it draws it itself" : "none is drawn"))
    }
    if wishes.token != nil, (offered["version"]?.unsigned ?? 0) >= Self.persistVersion {
      options["persist_mode"] = .uint32(Self.persistUntilRevoked)
      if let restoreToken { options["restore_token"] = .string(restoreToken) }
    }
    ask(
      "SelectSources", [.path(sessionPath)], options: options, patience: wishes.patience
    ) { [unowned self] _ in startSession() }
  }

  private func startSession() {
    guard let sessionPath else { return }
    ask(
      "Start", [.path(sessionPath), .string("")], options: [:], patience: wishes.patience
    ) { [unowned self] results in
      guard let stream = results["streams"]?[0], let id = stream[0]?.unsigned else {
        return end(.unavailable, "the ScreenCast portal gave no stream")
      }
      if results["streams"]?[1] != nil {
        Log.note("the ScreenCast portal gave several streams: the first is broadcast")
      }
      keep(results["restore_token"]?.text)
      let kind = stream[1]?["source_type"]?.unsigned
      openRemote(
        GrantedNode(
          id: id, serial: stream[1]?["pipewire-serial"]?.integer,
          place: kind == SourceKind.window.rawValue
            ? nil : MonitorLayout.Place(stream[1]?["position"])))
    }
  }

  private func openRemote(_ node: GrantedNode) {
    guard let sessionPath else { return }
    call(
      "OpenPipeWireRemote", of: Self.screenCast, [.path(sessionPath), .options([:])],
      patience: Self.stepPatience
    ) { [unowned self] values in
      guard case .number(let lent) = values.first else {
        return end(.unavailable, "the ScreenCast portal gave no connection to PipeWire")
      }
      let fd = fcntl(Int32(truncatingIfNeeded: lent), F_DUPFD_CLOEXEC, 3)
      guard fd >= 0 else { return end(.unavailable, "\(PosixError("F_DUPFD_CLOEXEC"))") }
      isGranted = true
      onGrant(
        Grant(remote: OwnedFD(fd), node: node, hasCursor: cursorMode == .metadata))
    }
  }

  /// The token of this start is good for the next; one that came without is used up.
  private func keep(_ token: String?) {
    guard let file = wishes.token else { return }
    guard let token else { return file.remove() }
    do {
      try file.save(token)
    } catch {
      Log.note("the screen's permission could not be kept, the next start asks again: \(error)")
    }
  }

  // MARK: requests and their responses

  /// Calls a method that answers by a Response signal to a request object.
  private func ask(
    _ member: String, _ arguments: [BusValue], options: [String: BusValue], patience: Duration,
    onResponse: @escaping (BusValue) -> Void
  ) {
    let token = Self.makeToken()
    step = Step(name: member, token: token, patience: patience, onResponse: onResponse)
    deadline?.arm(after: patience)
    let options = options.merging(["handle_token": .string(token)]) { $1 }
    call(
      member, of: Self.screenCast, arguments + [.options(options)], patience: Self.stepPatience
    ) { [unowned self] values in
      if step?.token == token { step?.path = values.first?.text }
    }
  }

  private func call(
    _ member: String, of interface: String, _ arguments: [BusValue], patience: Duration,
    onValues: @escaping ([BusValue]) -> Void
  ) {
    do throws(BusError) {
      try bus?.call(
        member, of: interface, at: Self.object, on: Self.portal, arguments, timeout: patience
      ) { [unowned self] reply in
        switch reply {
        case .success(let values): onValues(values)
        case .failure(let error): refuse(member, error)
        }
      }
    } catch {
      end(.unavailable, "the ScreenCast portal cannot be asked: \(error)")
    }
  }

  private func respond(_ path: String, _ values: [BusValue]) {
    guard let step, path.hasSuffix("/\(step.token)"), let code = values.first?.unsigned else {
      return
    }
    self.step = nil
    deadline?.disarm()
    switch code {
    case 0: step.onResponse(values.count > 1 ? values[1] : .options([:]))
    case 1: end(.notAllowed, "the user declined to share the screen")
    // Nobody was asked: what was allowed before is not there now, as a monitor that is switched off.
    case _ where step.name == "Start" && restoreToken != nil:
      end(.unavailable, "the desktop cannot show the screen that was allowed before")
    case _ where step.name == "Start" && !hasLostBackend:
      end(.notAllowed, "the desktop refused to share the screen: see its portal backend's log")
    default:
      end(
        .unavailable,
        "the ScreenCast portal cannot do \(step.name): is the portal backend of this desktop running?"
      )
    }
  }

  private func refuse(_ member: String, _ error: BusError) {
    if member == "SelectSources", restoreToken != nil,
      error.name == "org.freedesktop.DBus.Error.InvalidArgs"
        || error.name == "org.freedesktop.portal.Error.InvalidArgument"
    {
      // A token that the portal cannot read, from another desktop or cut short: ask anew.
      restoreToken = nil
      wishes.token?.remove()
      return selectSources()
    }
    switch error.name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
      end(
        .unavailable, "no desktop portal on the session bus: install and start xdg-desktop-portal")
    case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.portal.Error.NotAllowed":
      end(.notAllowed, "the ScreenCast portal refused \(member): \(error.message)")
    case _ where member == "GetAll":
      end(
        .unavailable,
        "the desktop portal has no ScreenCast (\(error.message)): install a backend for this desktop, "
          + "for example xdg-desktop-portal-wlr or xdg-desktop-portal-gnome")
    default: end(.unavailable, "the ScreenCast portal failed at \(member): \(error)")
    }
  }

  private func runOut() {
    guard let step else { return }
    let seconds = step.patience.components.seconds
    if step.name == "Start" && !hasLostBackend {
      end(.notAllowed, "nobody answered the desktop's question about the screen in \(seconds) s")
    } else {
      end(.unavailable, "the ScreenCast portal did not answer \(step.name) in \(seconds) s")
    }
  }

  private func end(_ code: ExitCode, _ text: String, word: FinishCode? = nil) {
    deadline?.disarm()
    onEnd(SourceEnd(code: code, text: text, word: word))
  }

  /// A name for a request or a session that nobody else guesses.
  private static func makeToken() -> String {
    "porthole_" + String(UInt64.random(in: .min ... .max), radix: 36)
  }
}
