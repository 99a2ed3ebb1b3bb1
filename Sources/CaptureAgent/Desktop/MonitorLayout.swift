/// The monitors that a desktop has, where it tells: GNOME's compositor does.
///
/// https://gitlab.gnome.org/GNOME/mutter/-/blob/43.8/data/dbus-interfaces/org.gnome.Mutter.DisplayConfig.xml
struct MonitorLayout: Equatable {
  static let service = "org.gnome.Mutter.DisplayConfig"
  static let object = "/org/gnome/Mutter/DisplayConfig"

  /// Where a monitor's left upper corner is on the desktop, as D-Bus has it.
  struct Place: Equatable, Sendable {
    let x: Int64
    let y: Int64

    /// Of an `(ii)`.
    init?(_ value: BusValue?) {
      guard let x = value?[0]?.integer, let y = value?[1]?.integer else { return nil }
      self.x = x
      self.y = y
    }
  }

  struct Monitor: Equatable {
    /// As `eDP-1`.
    let connector: String
    let name: String?
    /// In pixels; nil: it is off.
    let size: Size?
    /// nil: it is no part of the desktop.
    let place: Place?

    var isOn: Bool { size != nil && place != nil }

    var words: String {
      let size = isOn ? size.map { "\($0.width)x\($0.height)" } : nil
      return "\(connector) (\(name.map { "\($0), " } ?? "")\(size ?? "off"))"
    }
  }

  struct Size: Equatable {
    let width: Int64
    let height: Int64
  }

  /// Sixteen at most: more would not be read.
  let monitors: [Monitor]

  /// Calls `onAnswer` once, from the loop; with nil where nobody tells.
  static func ask(
    on bus: Bus, timeout: Duration, onAnswer: @escaping (MonitorLayout?) -> Void
  ) throws(BusError) {
    try bus.call(
      "GetCurrentState", of: service, at: object, on: service, [], timeout: timeout,
      startsService: false
    ) { reply in
      guard case .success(let values) = reply else { return onAnswer(nil) }
      onAnswer(MonitorLayout(state: values))
    }
  }

  /// Of `u`, `a((ssss)a(siiddada{sv})a{sv})` and `a(iiduba(ssss)a{sv})`: a serial, what is connected, and
  /// what the desktop is made of.
  init?(state: [BusValue]) {
    guard state.count > 2, case .list(let connected) = state[1], case .list(let parts) = state[2]
    else { return nil }
    monitors = connected.prefix(16).compactMap { monitor in
      guard let connector = monitor[0]?[0]?.text, case .list(let modes)? = monitor[1] else {
        return nil
      }
      let part = parts.first { part in
        guard case .list(let monitors)? = part[5] else { return false }
        return monitors.contains { $0[0]?.text == connector }
      }
      let mode = modes.first { $0[6]?["is-current"]?.truth == true }
      let size = mode.flatMap { mode in
        mode[1]?.integer.flatMap { width in
          mode[2]?.integer.map { Size(width: width, height: $0) }
        }
      }
      return Monitor(
        connector: connector, name: monitor[2]?["display-name"]?.text, size: size,
        place: Place(part))
    }
  }

  /// The connector of the one that is at `place`, or where that is not known the only one whose pictures have
  /// this size, turned or not.
  func connector(at place: Place?, size: Size) -> String? {
    let found = monitors.filter { monitor in
      guard monitor.isOn, let own = monitor.size else { return false }
      if let place { return monitor.place == place }
      return own == size || own == Size(width: size.height, height: size.width)
    }
    return found.count == 1 || place != nil ? found.first?.connector : nil
  }

  /// Whether it is a part of the desktop.
  func isOn(_ connector: String) -> Bool {
    monitors.contains { $0.connector == connector && $0.isOn }
  }
}
