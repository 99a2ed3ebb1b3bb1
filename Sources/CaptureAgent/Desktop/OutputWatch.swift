/// Hears whether the screen that is shown is switched off or taken from the desktop. GNOME's compositor tells
/// of its monitors, PipeWire of a producer that has stopped, whatever desktop it is of. Loop thread only.
///
/// A monitor that is off gives no frames; a virtual one goes on, though the compositor says the same of it, and
/// so does a window that is drawn for others. So a screen that gives frames meanwhile is on. But of a monitor that
/// is no part of the desktop any more mutter 43 goes on giving what is in its place, another monitor perhaps.
///
/// https://gitlab.gnome.org/GNOME/mutter/-/blob/43.8/data/dbus-interfaces/org.gnome.Mutter.DisplayConfig.xml
final class OutputWatch {
  /// What is known of the screen.
  enum Sight {
    case on
    case off
    /// It is being asked for.
    case unknown
  }

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

  private let onChange: (Sight) -> Void
  private weak var bus: Bus?
  private var phase = Phase.on { didSet { tell() } }
  private var isSuspended = false { didSet { tell() } }
  /// The monitor that is shown; nil: none, or nobody knows.
  private var connector: String?
  private var isGone = false { didSet { tell() } }
  private var isAsking = false { didSet { tell() } }
  private var told = Sight.on

  /// `onChange` is told of each change. It is called inside a callback of the bus, which must not be dropped
  /// there.
  init(onChange: @escaping (Sight) -> Void) { self.onChange = onChange }

  private var sight: Sight {
    if isSuspended || isGone { return .off }
    if case .dark = phase { return .off }
    return isAsking ? .unknown : .on
  }

  var isOff: Bool { sight == .off }

  /// A session bus that is there from now on; nil when it is gone, and whoever would say that all is on again.
  func use(_ bus: Bus?) throws(BusError) {
    self.bus = bus
    forget()
    guard let bus else { return }
    try bus.watchSignal("PropertiesChanged", of: Self.properties, from: MonitorLayout.service) {
      [unowned self] _, values in
      guard values.count > 1, values[0].text == MonitorLayout.service,
        let mode = values[1][Self.property]?.integer
      else { return }
      become(mode)
    }
    try bus.watchSignal("MonitorsChanged", of: MonitorLayout.service, from: MonitorLayout.service) {
      [unowned self] _, _ in lookAround()
    }
    try bus.watchOwner(of: MonitorLayout.service) { [unowned self] _, new in
      if new.isEmpty { forget() } else { try? askForMode() }
    }
    try askForMode()
  }

  /// Frames are those of the monitor at `place`; nil: of one that their size, in pixels, tells.
  func show(at place: MonitorLayout.Place?, size: (width: Int, height: Int)) {
    guard let bus, connector == nil else { return }
    let size = MonitorLayout.Size(width: Int64(size.width), height: Int64(size.height))
    try? MonitorLayout.ask(on: bus, timeout: Self.patience) { [unowned self] layout in
      connector = layout?.connector(at: place, size: size)
    }
  }

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

  private func forget() {
    phase = .on
    connector = nil
    isGone = false
    isAsking = false
  }

  private func lookAround() {
    guard let bus, let connector else { return }
    isAsking = true
    do throws(BusError) {
      try MonitorLayout.ask(on: bus, timeout: Self.patience) { [unowned self] layout in
        // Of no answer nobody knows what is shown.
        isGone = layout?.isOn(connector) != true
        isAsking = false
      }
    } catch {
      isAsking = false
    }
  }

  private func askForMode() throws(BusError) {
    try bus?.call(
      "Get", of: Self.properties, at: MonitorLayout.object, on: MonitorLayout.service,
      [.string(MonitorLayout.service), .string(Self.property)], timeout: Self.patience,
      startsService: false
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

  private func tell() {
    guard sight != told else { return }
    told = sight
    onChange(sight)
  }
}
