/// Hears from GNOME's compositor whether it has switched its monitors off, as a desktop does that is idle or
/// locked, and tells when the screen has gone dark with them. Loop thread only.
///
/// A monitor that is off gives no frames; a virtual one goes on, though the compositor says the same of it, and
/// so does a window that is drawn for others. So a screen that gives frames meanwhile is on. Other desktops
/// stop the producer, which PipeWire tells, or end its node.
///
/// https://gitlab.gnome.org/GNOME/mutter/-/blob/43.8/data/dbus-interfaces/org.gnome.Mutter.DisplayConfig.xml
final class OutputWatch {
  private static let service = "org.gnome.Mutter.DisplayConfig"
  private static let object = "/org/gnome/Mutter/DisplayConfig"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let property = "PowerSaveMode"
  /// Stand-by, suspended, off; 0 is on, and -1 is said where nothing can be switched.
  private static let off: ClosedRange<Int64> = 1...3
  private static let patience = Duration.seconds(10)

  private enum Phase: Equatable {
    case on
    /// Since a moment ago: there may be frames on their way.
    case switchedOff
    /// It had given so many frames when that was looked at.
    case watched(frames: Int)
    case dark(frames: Int)
    /// Frames come all the same.
    case seen
  }

  private let onChange: (Bool) -> Void
  private var phase = Phase.on { didSet { tellChange() } }
  /// What PipeWire says of the producer, whatever desktop it is of.
  private var isSuspended = false { didSet { tellChange() } }
  private var isToldDark = false

  var isDark: Bool { if case .dark = phase { true } else { isSuspended } }

  /// `onChange` is told whether the screen is dark at each change. It is called inside a callback of the bus,
  /// which must not be dropped there.
  init(onChange: @escaping (Bool) -> Void) { self.onChange = onChange }

  /// A session bus that is there from now on.
  func watch(on bus: Bus) throws(BusError) {
    try bus.watchSignal("PropertiesChanged", of: Self.properties, from: Self.service) {
      [unowned self] _, values in
      guard values.count > 1, values[0].text == Self.service,
        let mode = values[1][Self.property]?.integer
      else { return }
      become(mode)
    }
    try bus.watchOwner(of: Self.service) { [unowned self, unowned bus] _, new in
      if new.isEmpty { forget() } else { try? ask(bus) }
    }
    try ask(bus)
  }

  /// Whoever would say that it is on again is gone.
  func forget() { phase = .on }

  func suspend(_ isSuspended: Bool) { self.isSuspended = isSuspended }

  /// Once a second. `frames`: how many the screen has given.
  func tick(frames: Int) {
    switch phase {
    case .on, .seen: break
    case .switchedOff: phase = .watched(frames: frames)
    case .watched(frames): phase = .dark(frames: frames)
    case .dark(frames): break
    case .watched, .dark: phase = .seen
    }
  }

  private func ask(_ bus: Bus) throws(BusError) {
    try bus.call(
      "Get", of: Self.properties, at: Self.object, on: Self.service,
      [.string(Self.service), .string(Self.property)], timeout: Self.patience, startsService: false
    ) { [unowned self] reply in
      if case .success(let values) = reply, let mode = values.first?.integer { become(mode) }
    }
  }

  private func become(_ mode: Int64) {
    if !Self.off.contains(mode) {
      phase = .on
    } else if phase == .on {
      phase = .switchedOff
    }
  }

  private func tellChange() {
    guard isDark != isToldDark else { return }
    isToldDark = isDark
    onChange(isDark)
  }
}
