import Posix

/// Connections of one port that have not said yet what they want, which costs a stranger nothing
/// and so must be few.
struct Antechamber {
  private var addresses: [ObjectIdentifier: [UInt8]] = [:]

  /// Whether accepting must rest until one of them greets or is cut.
  var isFull: Bool { addresses.count >= RelayLimits.ungreeted }

  /// Whether one more from `peer` may come in; loopback has no bound of its own.
  func admits(_ peer: SocketAddress) -> Bool {
    guard !peer.isLoopback else { return true }
    return addresses.values.count { $0 == peer.bytes } < RelayLimits.ungreetedOfAddress
  }

  mutating func enter(_ connection: ObjectIdentifier, from peer: SocketAddress) {
    addresses[connection] = peer.bytes
  }

  mutating func leave(_ connection: ObjectIdentifier) { addresses[connection] = nil }
}
