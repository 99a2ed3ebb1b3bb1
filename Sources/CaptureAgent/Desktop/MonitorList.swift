/// The monitors that a desktop has, where it tells: GNOME's compositor does.
///
/// https://gitlab.gnome.org/GNOME/mutter/-/blob/43.8/data/dbus-interfaces/org.gnome.Mutter.DisplayConfig.xml
enum MonitorList {
  private static let service = "org.gnome.Mutter.DisplayConfig"
  // More would not be read.
  private static let most = 16

  /// Calls `onAnswer` once, from the loop, with each of them in words; empty where nobody tells.
  static func ask(
    on bus: Bus, timeout: Duration, onAnswer: @escaping ([String]) -> Void
  ) throws(BusError) {
    try bus.call(
      "GetCurrentState", of: service, at: "/org/gnome/Mutter/DisplayConfig", on: service, [],
      timeout: timeout, startsService: false
    ) { reply in
      guard case .success(let values) = reply, values.count > 1,
        case .list(let monitors) = values[1]
      else { return onAnswer([]) }
      onAnswer(monitors.prefix(most).compactMap(words))
    }
  }

  /// Of `((ssss)a(siiddada{sv})a{sv})`: connector and so on, modes, properties.
  private static func words(_ monitor: BusValue) -> String? {
    guard let connector = monitor[0]?[0]?.text, case .list(let modes)? = monitor[1] else {
      return nil
    }
    let current = modes.first { $0[6]?["is-current"]?.truth == true }
    let size = current.flatMap { mode in
      mode[1]?.integer.flatMap { width in mode[2]?.integer.map { "\(width)x\($0)" } }
    }
    let name = monitor[2]?["display-name"]?.text
    return "\(connector) (\(name.map { "\($0), " } ?? "")\(size ?? "off"))"
  }
}
