import PipeWire
import Report

/// What there is to broadcast, as people know it, with the word that chooses each (`--list-sources`). It needs
/// no relay, asks nobody and captures nothing.
final class SourceList {
  // A desktop that is there answers at once.
  private static let patience = Duration.seconds(5)
  // Wide enough for most names.
  private static let column = 36

  private let loop: Loop
  private let token: RestoreToken?
  private var connection: Connection?
  private var bus: Bus?
  private var nodes: [Connection.Node]?
  /// What the portal offers, a line each, or why it does not.
  private var portal: [String]?
  private var monitors: [String]?

  /// Prints the list.
  static func run(_ options: Options) -> ExitCode {
    do throws(SourceEnd) {
      let list = try SourceList(options)
      for line in try list.lines() { print(line) }
      return .finished
    } catch {
      for line in ["screens", Self.pattern] { print(line) }
      Log.note(error.text)
      Log.note(
        "for a desktop of its own, without a screen: scripts/headless-desktop start, or "
          + "scripts/broadcast --desktop headless")
      return error.code
    }
  }

  private init(_ options: Options) throws(SourceEnd) {
    token = ScreenCastPortal.Wishes(options).token
    do {
      loop = try Loop()
      connection = try Connection(loop: loop)
    } catch {
      throw .withoutPipeWire(error)
    }
  }

  private func lines() throws(SourceEnd) -> [String] {
    connection?.roundTrip { [unowned self] in
      nodes = connection?.nodes
      quitIfDone()
    }
    askPortal()
    let deadline = try? loop.addTimer { [unowned self] in loop.quit() }
    deadline?.arm(after: Self.patience)
    loop.run()
    bus = nil
    connection = nil
    guard let nodes else {
      throw SourceEnd(code: .unavailable, text: "PipeWire does not answer: is it being started?")
    }
    return screens(nodes) + cameras(nodes) + sounds(nodes)
  }

  private func quitIfDone() {
    if nodes != nil, portal != nil, monitors != nil { loop.quit() }
  }

  private func askPortal() {
    do throws(BusError) {
      let bus = try Bus(loop: loop) { [unowned self] _ in answer(["the session bus is gone"]) }
      self.bus = bus
      try MonitorLayout.ask(on: bus, timeout: Self.patience) { [unowned self] in
        monitors = $0?.monitors.map(\.words) ?? []
        quitIfDone()
      }
      try bus.call(
        "GetAll", of: "org.freedesktop.DBus.Properties", at: "/org/freedesktop/portal/desktop",
        on: "org.freedesktop.portal.Desktop", [.string("org.freedesktop.portal.ScreenCast")],
        timeout: Self.patience
      ) { [unowned self] reply in
        switch reply {
        case .success(let values): answer(offer(values.first ?? .options([:])))
        case .failure: answer(["there is no desktop portal with screencasts"])
        }
      }
    } catch {
      answer(["there is no session bus"])
    }
  }

  private func answer(_ lines: [String]) {
    portal = portal ?? lines
    // Nobody else answers on a bus that is gone.
    if bus == nil { monitors = [] }
    quitIfDone()
  }

  private func offer(_ properties: BusValue) -> [String] {
    let types = properties["AvailableSourceTypes"]?.unsigned ?? 0
    let modes = properties["AvailableCursorModes"]?.unsigned ?? 0
    let cursors = [(1, "hidden"), (2, "embedded"), (4, "metadata")].filter { modes & $0.0 != 0 }
      .map(\.1).joined(separator: ", ")
    let kinds = SourceKind.allCases.filter { types & $0.rawValue != 0 }
    let asks =
      token?.load() == nil
      ? "the desktop asks which" : "one was allowed before; --ask has the desktop ask again"
    return ["\(SourceKind.words(types)): \(asks); cursor \(cursors)"]
      + (kinds.count < 2
        ? []
        : ["of one kind: --source " + kinds.map { "portal:\($0.word)" }.joined(separator: ", ")])
  }

  private func screens(_ nodes: [Connection.Node]) -> [String] {
    let others = nodes.filter { $0.mediaClass == "Video/Source" && !$0.isCamera }
    return ["screens"]
      + [Self.row("by the desktop's portal", "--source portal")]
      + (portal ?? ["the portal does not answer"]).map { "    \($0)" }
      + (monitors ?? []).map { "    monitor \(Self.clean($0))" }
      + others.map { Self.row($0, among: others, "--source node:") } + [Self.pattern]
  }

  private static var pattern: String {
    row("a pattern, with no desktop at all", "--source pattern")
  }

  private func cameras(_ nodes: [Connection.Node]) -> [String] {
    let cameras = nodes.filter(\.isCamera)
    return Self.section(
      "cameras (beside a screen: --camera=NAME)",
      cameras.map { Self.row($0, among: cameras, "--source camera:") })
  }

  private func sounds(_ nodes: [Connection.Node]) -> [String] {
    func rows(_ classes: [String], _ word: String) -> [String] {
      let found = nodes.filter { $0.mediaClass.map(classes.contains) ?? false }
      return found.map { Self.row($0, among: found, word) }
    }
    return Self.section(
      "outputs (the default one: --audio app)", rows(SoundCapture.outputs, "--audio app:"))
      + Self.section(
        "applications that play", rows(SoundCapture.applications, "--audio app:"))
      + Self.section(
        "microphones (the default one: --audio mic)", rows(SoundCapture.microphones, "--audio mic:")
      )
  }

  private static func section(_ title: String, _ rows: [String]) -> [String] {
    [title] + (rows.isEmpty ? ["  none"] : rows)
  }

  /// By its name, or where others have the same by its serial.
  private static func row(
    _ node: Connection.Node, among others: [Connection.Node], _ option: String
  ) -> String {
    let isAlone = others.count { $0.name == node.name } == 1
    let word = (isAlone ? node.name : node.serial) ?? node.serial ?? "\(node.id)"
    return row(node.title ?? word, option + (word.contains { $0 == " " } ? "'\(word)'" : word))
  }

  private static func row(_ title: String, _ option: String) -> String {
    let clean = clean(title)
    let gap = String(repeating: " ", count: max(1, column - clean.count))
    return "  \(clean)\(gap) \(option)"
  }

  /// What others have put there must not steer a terminal.
  private static func clean(_ text: String) -> String {
    String(text.unicodeScalars.map { $0.isPlain ? Character($0) : " " })
  }
}
