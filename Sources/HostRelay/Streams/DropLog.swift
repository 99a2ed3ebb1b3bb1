/// Says what slow readers lost: one line an interval, which names the one that lost most.
struct DropLog {
  private var lastLook: Moment?
  private var told: [ObjectIdentifier: Reader.Drops] = [:]

  /// The line that is due, if there is something to say.
  mutating func line(for readers: some Collection<Reader>, now: Moment) -> String? {
    if let lastLook, now - lastLook < RelayLimits.dropLogInterval { return nil }
    lastLook = now
    var losers: [(reader: Reader, packets: Int, bytes: Int)] = []
    for reader in readers where reader.drops.packets > 0 {
      let before = told[ObjectIdentifier(reader)] ?? Reader.Drops()
      let packets = reader.drops.packets - before.packets
      guard packets > 0 else { continue }
      losers.append((reader, packets, reader.drops.bytes - before.bytes))
    }
    guard let worst = losers.max(by: { $0.bytes < $1.bytes }) else { return nil }
    told = [:]
    for reader in readers where reader.drops.packets > 0 {
      told[ObjectIdentifier(reader)] = reader.drops
    }
    let others = losers.count > 1 ? ", as \(losers.count - 1) others did" : ""
    return
      "\(worst.reader.name) is too slow and lost \(worst.packets) packets, \(worst.bytes) bytes"
      + "\(others): read faster, or lower the bitrate"
  }
}
