import Posix
import Wire

/// Connections of one port that have not said yet what they want, which costs a stranger nothing
/// and so must be few.
struct Antechamber {
  private struct Entry {
    let address: [UInt8]
    let begin: Moment
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  /// How many there may be of one address off loopback.
  private let limitOfAddress: Int

  init(limitOfAddress: Int) { self.limitOfAddress = limitOfAddress }

  /// Whether accepting must rest until one of them greets or is cut.
  var isFull: Bool { entries.count >= RelayLimits.ungreeted }

  /// Whether one more from `peer` may come in; loopback has no bound of its own.
  func admits(_ peer: SocketAddress) -> Bool {
    guard !peer.isLoopback else { return true }
    return entries.values.count { $0.address == peer.bytes } < limitOfAddress
  }

  mutating func enter(_ connection: ObjectIdentifier, from peer: SocketAddress, now: Moment) {
    entries[connection] = Entry(address: peer.bytes, begin: now)
  }

  mutating func leave(_ connection: ObjectIdentifier) { entries[connection] = nil }

  /// Those whose time to say something is over.
  func overdue(now: Moment) -> [ObjectIdentifier] {
    entries.filter { now - $0.value.begin >= WireLimits.greetingTime }.map(\.key)
  }
}
