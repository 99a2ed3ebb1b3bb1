/// A first-in first-out queue that knows how long its oldest live packet has waited.
struct WaitingPackets {
  private struct Entry {
    let packet: Packet
    /// nil for what came from the cache: it is old, and counts for no limit.
    let since: Moment?

    var isMessage: Bool { packet.kind == .message }
    var limitedBytes: Int { isMessage || since == nil ? 0 : packet.bytes.count }
  }

  /// Payload bytes of the packets that came live.
  private(set) var liveBytes = 0
  private(set) var messageCount = 0
  private var count = 0
  private var head = 0
  private var entries: [Entry] = []

  mutating func append(_ packet: Packet, since: Moment?) {
    let entry = Entry(packet: packet, since: since)
    entries.append(entry)
    count += 1
    liveBytes += entry.limitedBytes
    if entry.isMessage { messageCount += 1 }
  }

  mutating func takeFirst() -> Packet? {
    guard count > 0 else { return nil }
    let entry = entries[head]
    head += 1
    count -= 1
    liveBytes -= entry.limitedBytes
    if entry.isMessage { messageCount -= 1 }
    // Taken entries keep their bytes alive: let them go in small batches.
    if head == entries.count || head >= 16 {
      entries.removeFirst(head)
      head = 0
    }
    return entry.packet
  }

  /// How long the oldest packet that came live has been waiting.
  func delay(now: Moment) -> Duration {
    guard liveBytes > 0 else { return .zero }
    for entry in entries[head...] where !entry.isMessage {
      if let since = entry.since { return now - since }
    }
    return .zero
  }

  /// Drops everything but messages; returns what that was.
  mutating func dropPackets() -> (count: Int, byteCount: Int) {
    let kept = entries[head...].filter(\.isMessage)
    let bytes = entries[head...].reduce(0) { $0 + ($1.isMessage ? 0 : $1.packet.bytes.count) }
    let dropped = (count - kept.count, bytes)
    entries = Array(kept)
    count = kept.count
    head = 0
    liveBytes = 0
    return dropped
  }
}
