import Glibc

/// Keeps the desktop from going idle and from suspending, by its Inhibit portal, for as long as it is
/// wanted; a desktop that has none is asked once and left alone. Loop thread only.
///
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Inhibit.html
final class Inhibition {
  private static let portal = "org.freedesktop.portal.Desktop"
  private static let suspend: UInt32 = 4
  private static let idle: UInt32 = 8
  // The portal answers at once; its backend is not waited for.
  private static let patience = Duration.seconds(10)

  private let reason: String
  private var bus: Bus?
  private var isWanted = false
  private var isAsking = false
  /// The request that holds it, as the portal names it.
  private var handle: String?

  /// `reason` is what a user reads who asks the desktop why it stays awake.
  init(reason: String) { self.reason = reason }

  /// A bus that is there from now on; nil when it is gone, and what was held with it.
  func use(_ bus: Bus?) throws(BusError) {
    self.bus = bus
    isAsking = false
    handle = nil
    // A portal that comes back knows nothing of those before it.
    try bus?.watchOwner(of: Self.portal) { [unowned self] _, new in
      handle = nil
      if !new.isEmpty { apply() }
    }
    apply()
  }

  func set(_ isWanted: Bool) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    apply()
  }

  private func apply() {
    if !isWanted, let handle {
      try? bus?.send("Close", of: "org.freedesktop.portal.Request", at: handle, on: Self.portal)
      self.handle = nil
    }
    guard isWanted, handle == nil, !isAsking, let bus else { return }
    isAsking = true
    let options: [String: BusValue] = ["reason": .string(reason)]
    try? bus.call(
      "Inhibit", of: "org.freedesktop.portal.Inhibit", at: "/org/freedesktop/portal/desktop",
      on: Self.portal, [.string(""), .uint32(Self.suspend | Self.idle), .options(options)],
      timeout: Self.patience
    ) { [unowned self] reply in
      isAsking = false
      guard case .success(let values) = reply, let path = values.first?.text else { return }
      handle = path
      if !isWanted { apply() }
    }
  }
}
