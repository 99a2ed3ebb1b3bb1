import Glibc
import Posix
import Wire

/// Tells the person at the screen that it is seen: a notification that stands while the broadcast is live,
/// with the number of viewers and buttons, changed in place. A desktop that shows none is left alone.
/// Loop thread only.
///
/// https://specifications.freedesktop.org/notification-spec/latest/
final class LiveNotification {
  /// What the person may press.
  enum Button: String, Sendable {
    case pause
    case resume
    case stop
  }

  /// What it says.
  struct Content: Equatable {
    var reasons: PauseReasons = []
    var viewers = 0

    var body: String {
      let many = viewers == 0 ? "Nobody watches" : viewers == 1 ? "1 viewer" : "\(viewers) viewers"
      guard !reasons.isEmpty else { return "\(many)." }
      let why = reasons.text.isEmpty ? "" : ": \(reasons.text)"
      return "Paused\(why). \(many)."
    }

    /// The person ends what the person began, and nobody else's pause.
    var actions: [String] {
      let first = reasons.contains(.person) ? Button.resume : .pause
      return [first.rawValue, first == .pause ? "Pause" : "Resume", Button.stop.rawValue, "Stop"]
    }
  }

  private static let service = "org.freedesktop.Notifications"
  private static let object = "/org/freedesktop/Notifications"
  private static let patience = Duration.seconds(10)
  // Viewers come and go faster than anybody reads.
  private static let pace: Int64 = 1_000_000_000
  private static let longestName = 100

  private let summary: String
  private let record: NotificationRecord
  private let isWanted: Bool
  private let onButton: (Button) -> Void
  private var bus: Bus?
  /// nil: none is to be seen.
  private var wanted: Content?
  private var shown: Content?
  private var lastCall: Int64 = 0
  private var isAsking = false
  /// By the desktop's number; 0: none.
  private var id: UInt32 = 0
  /// The unique name of the desktop's service; empty: there is none, as far as is known.
  private var owner = ""
  /// The person, or the desktop after a while, has put it away: nobody is bothered again.
  private var isDismissed = false

  /// `name` is the broadcast's. Unless `isWanted` it only takes away what another agent left. `onButton` is
  /// called inside a callback of the bus, which must not be dropped there.
  init(
    name: String, record: NotificationRecord, isWanted: Bool, onButton: @escaping (Button) -> Void
  ) {
    self.isWanted = isWanted
    summary = "On the air: \(name.prefix(Self.longestName))"
    self.record = record
    self.onButton = onButton
  }

  /// A bus that is there from now on; nil when it is gone.
  func use(_ bus: Bus?) throws(BusError) {
    self.bus = bus
    forget()
    guard let bus else { return }
    try bus.watchSignal("ActionInvoked", of: Self.service, from: Self.service) {
      [unowned self] _, values in
      guard id != 0, values.first?.unsigned == id, values.count > 1,
        let button = values[1].text.flatMap(Button.init)
      else { return }
      onButton(button)
    }
    try bus.watchSignal("NotificationClosed", of: Self.service, from: Self.service) {
      [unowned self] _, values in
      guard id != 0, values.first?.unsigned == id else { return }
      id = 0
      shown = nil
      record.remove()
      isDismissed = true
    }
    try bus.watchOwner(of: Self.service) { [unowned self] _, new in
      forget()
      owner = new
    }
    try bus.call(
      "GetNameOwner", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus",
      on: "org.freedesktop.DBus", [.string(Self.service)], timeout: Self.patience
    ) { [unowned self] reply in
      if case .success(let values) = reply { owner = values.first?.text ?? "" }
      adopt()
    }
    isAsking = true
  }

  /// Shows this, or nothing.
  func show(_ content: Content?) {
    guard isWanted else { return }
    if content == nil, wanted != nil { close() }
    wanted = content
    if content?.reasons != shown?.reasons { apply() }
  }

  /// Takes it away for good.
  func end() {
    wanted = nil
    close()
  }

  /// Once a second: what has changed since.
  func tick(now: Int64) {
    if now - lastCall >= Self.pace { apply() }
  }

  private func forget() {
    id = 0
    shown = nil
    isAsking = false
  }

  /// One that an agent left which was killed becomes ours, as long as the same desktop shows it.
  private func adopt() {
    isAsking = false
    if let (old, oldOwner) = record.load() {
      if oldOwner == owner, !owner.isEmpty { id = old } else { record.remove() }
    }
    if isWanted { apply() } else { close() }
  }

  private func apply() {
    guard let wanted, !isAsking, !isDismissed, wanted != shown, let bus else { return }
    isAsking = true
    lastCall = MonotonicClock.now()
    // Low, so that no banner stands in the picture; resident, so that a button does not take it away.
    let hints: [String: BusValue] = [
      "urgency": .byte(0), "resident": .bool(true), "suppress-sound": .bool(true),
      "category": .string("x-porthole.live"), "desktop-entry": .string("porthole"),
    ]
    try? bus.call(
      "Notify", of: Self.service, at: Self.object, on: Self.service,
      [
        .string("Porthole"), .uint32(id), .string("video-display"), .string(summary),
        .string(wanted.body), .strings(wanted.actions), .options(hints), .int32(0),
      ], timeout: Self.patience
    ) { [unowned self] reply in
      isAsking = false
      guard case .success(let values) = reply, let new = values.first?.unsigned else {
        // Not asked again for the same: there is nobody to show it.
        shown = wanted
        return
      }
      shown = wanted
      if new != id { keep(new) }
      if self.wanted == nil { close() }
    }
  }

  /// Where the next agent finds it; the service may have been started just now.
  private func keep(_ new: UInt32) {
    id = new
    try? bus?.call(
      "GetNameOwner", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus",
      on: "org.freedesktop.DBus", [.string(Self.service)], timeout: Self.patience
    ) { [unowned self] reply in
      guard id == new, case .success(let values) = reply, let name = values.first?.text else {
        return
      }
      owner = name
      record.save(id: new, owner: name)
    }
  }

  private func close() {
    guard id != 0 else { return }
    try? bus?.send(
      "CloseNotification", of: Self.service, at: Self.object, on: Self.service, [.uint32(id)])
    forget()
    record.remove()
  }
}
