/// Hears when the session is locked and unlocked: from logind, and from the desktop's screen saver where
/// it has one. Whoever spoke last is believed. Loop thread only.
final class LockWatch {
  static let login = "org.freedesktop.login1"
  private static let loginSession = "org.freedesktop.login1.Session"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let savers = [
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
  ]
  private static let patience = Duration.seconds(10)

  private let onChange: (Bool) -> Void
  /// logind's object of this user's session.
  private var session: String?
  /// How many questions are not answered yet on each bus, and whether one was by a yes.
  private var questions: [Bus.Kind: Int] = [:]
  private var isLocked = false

  var isUnlocked: Bool { !isLocked && questions.values.allSatisfy { $0 == 0 } }

  /// `onChange` is told whether the session is locked at each change. It is called inside a callback of a
  /// bus, which must not be dropped there.
  init(onChange: @escaping (Bool) -> Void) { self.onChange = onChange }

  /// Nobody answers on a bus that is gone.
  func lose(_ kind: Bus.Kind) {
    questions[kind] = 0
    settle()
  }

  /// Tells that it is not locked once all who were asked have said so, or cannot be asked.
  func settle() {
    if isUnlocked { onChange(false) }
  }

  /// The screen savers of a session bus.
  func watchSavers(on bus: Bus) throws(BusError) {
    for (name, path) in Self.savers {
      try bus.watchSignal("ActiveChanged", of: name, from: name) { [unowned self] _, values in
        if let isActive = values.first?.truth { tell(isActive) }
      }
      try ask("GetActive", of: name, at: path, on: bus, .session, service: name)
    }
  }

  /// logind, on the system bus.
  func watchLogin(on bus: Bus) throws(BusError) {
    for (member, isLocked) in [("Lock", true), ("Unlock", false)] {
      try bus.watchSignal(member, of: Self.loginSession, from: Self.login) {
        [unowned self] path, _ in
        if path == session { tell(isLocked) }
      }
    }
    try bus.watchSignal("PropertiesChanged", of: Self.properties, from: Self.login) {
      [unowned self] path, values in
      guard path == session, values.count > 1, values[0].text == Self.loginSession,
        let isLocked = values[1]["LockedHint"]?.truth
      else { return }
      tell(isLocked)
    }
    questions[.system, default: 0] += 1
    try bus.call(
      "GetSession", of: "org.freedesktop.login1.Manager", at: "/org/freedesktop/login1",
      on: Self.login, [.string("auto")], timeout: Self.patience, startsService: false
    ) { [unowned self, unowned bus] reply in
      questions[.system, default: 0] -= 1
      if case .success(let values) = reply, let path = values.first?.text {
        session = path
        try? ask(
          "Get", of: Self.properties, at: path, on: bus, .system, service: Self.login,
          [.string(Self.loginSession), .string("LockedHint")])
      }
      settle()
    }
  }

  private func tell(_ isLocked: Bool) {
    self.isLocked = isLocked
    onChange(isLocked)
  }

  /// Asks for something that is true where the session is locked.
  private func ask(
    _ member: String, of interface: String, at path: String, on bus: Bus, _ kind: Bus.Kind,
    service: String, _ arguments: [BusValue] = []
  ) throws(BusError) {
    questions[kind, default: 0] += 1
    do throws(BusError) {
      try bus.call(
        member, of: interface, at: path, on: service, arguments, timeout: Self.patience,
        startsService: false
      ) { [unowned self] reply in
        questions[kind, default: 0] -= 1
        if case .success(let values) = reply, values.first?.truth == true { tell(true) }
        settle()
      }
    } catch {
      questions[kind, default: 0] -= 1
      throw error
    }
  }
}
