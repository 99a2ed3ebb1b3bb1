/// Packets of one broadcast in one form, the cache of the newest of them, and those who read.
///
/// Every output is a stream with readers; none has a road of its own.
final class Stream {
  /// Called when a reader needs a keyframe.
  var requestKeyframe: ((KeyframeRequests.Reason) -> Void)?
  /// Called when a reader came or went.
  var audienceChanged: (() -> Void)?

  private(set) var cache = GOPCache()
  /// What readers that have left lost; those present are added by `drops`.
  private var formerDrops = Reader.Drops()
  private var readers: [ObjectIdentifier: Reader] = [:]
  /// Joiners that wait a moment for a fresh keyframe, and since when.
  private var joiners: [ObjectIdentifier: Moment] = [:]

  var readerCount: Int { readers.count }

  /// What all readers lost, since the start.
  var drops: Reader.Drops {
    readers.values.reduce(into: formerDrops) { sum, reader in
      sum.behind += reader.drops.behind
      sum.overrun += reader.drops.overrun
    }
  }

  /// Lets a reader in. With a fresh keyframe in the cache it starts at once; otherwise a new one is
  /// asked for, and the old cache serves only when that does not come in time.
  func join(_ reader: Reader, now: Moment) {
    readers[ObjectIdentifier(reader)] = reader
    reader.needsKeyframe = { [weak self] in self?.requestKeyframe?(.behind) }
    if let time = cache.keyframeTime, now - time <= RelayLimits.freshKeyframe {
      reader.start(with: cache.packets)
    } else {
      joiners[ObjectIdentifier(reader)] = now
      requestKeyframe?(.join)
    }
    audienceChanged?()
  }

  func leave(_ reader: Reader) {
    guard readers.removeValue(forKey: ObjectIdentifier(reader)) != nil else { return }
    joiners[ObjectIdentifier(reader)] = nil
    formerDrops.behind += reader.drops.behind
    formerDrops.overrun += reader.drops.overrun
    reader.needsKeyframe = nil
    audienceChanged?()
  }

  /// Hands one packet or message to every reader.
  func put(_ packet: Packet, now: Moment) {
    cache.put(packet, now: now)
    if packet.kind == .keyframe { joiners.removeAll(keepingCapacity: true) }
    for reader in readers.values { reader.put(packet, now: now) }
  }

  /// What is cached belongs to a stream description that holds no longer.
  func forgetCache() { cache.clear() }

  /// Starts the joiners that have waited long enough with what there is.
  func tick(now: Moment) {
    guard !joiners.isEmpty, !cache.packets.isEmpty else { return }
    for (identifier, since) in joiners where now - since >= RelayLimits.joinerPatience {
      joiners[identifier] = nil
      readers[identifier]?.start(with: cache.packets)
    }
  }
}
