import PipeWire

/// The node of a screencast, as the portal names it. PipeWire gives an id to another node as soon as it is
/// free; a serial is never used twice, but few portals tell one.
struct GrantedNode: Equatable, Sendable {
  let id: UInt32
  /// `pipewire-serial`, from version 6 of the portal's interface on.
  let serial: Int64?
  /// Of the monitor that it shows; nil for a window, and where the portal does not tell.
  var place: MonitorLayout.Place?

  /// Whether that is this node, and no other one under its id.
  func isOne(_ node: Connection.Node) -> Bool {
    node.id == id && (serial == nil || node.serial == serial.map(String.init))
  }
}
