import Report

/// Packets of one broadcast in one form, the cache of the newest of them, and those who read.
///
/// Every output is a stream with readers; none has a road of its own.
final class Stream {
  /// Called when a reader needs a keyframe, or has an old one to begin with (`isServed`) and would
  /// have a new one; says whether one is on its way.
  var requestKeyframe: ((KeyframeRequests.Reason, _ isServed: Bool) -> Bool)?
  /// Called when a reader needs a keyframe of the camera's.
  var requestCameraKeyframe: (() -> Void)?
  /// Called when a reader came or went.
  var audienceChanged: (() -> Void)?

  /// Stands before the first packet of each reader; a message that is put, too, when it changes.
  var head: Packet?

  private(set) var cache = GOPCache()
  /// Of the camera beside the screen.
  private var cameraCache = GOPCache()
  /// What readers that have left lost; those present are added by `drops`.
  private var formerDrops = Reader.Drops()
  private var readers: [ObjectIdentifier: Reader] = [:]
  /// Joiners that wait a moment for a fresh keyframe, and since when.
  private var joiners: [ObjectIdentifier: Moment] = [:]

  /// Nothing follows what was sent: no agent, or a pause.
  var isSuspended = false
  private var dropLog = DropLog()

  var readerCount: Int { readers.count }

  /// What all readers lost, since the start.
  var drops: Reader.Drops {
    readers.values.reduce(into: formerDrops) { $0 += $1.drops }
  }

  /// Lets a reader in. With a fresh keyframe in the cache it starts at once; otherwise a new one is
  /// asked for, and the old cache serves where none will come in time.
  func join(_ reader: Reader, now: Moment) {
    readers[ObjectIdentifier(reader)] = reader
    reader.needsKeyframe = { [weak self] in _ = self?.requestKeyframe?(.behind, false) }
    reader.needsCameraKeyframe = { [weak self] in self?.requestCameraKeyframe?() }
    if let head { reader.put(head, now: now) }
    if isSuspended {
      reader.start(with: cache.lastPackets + cameraCache.lastPackets, now: now)
    } else if let time = cache.keyframeTime, now - time <= RelayLimits.freshKeyframe {
      start(reader, now: now)
    } else if requestKeyframe?(.join, !cache.packets.isEmpty) == true {
      joiners[ObjectIdentifier(reader)] = now
    } else {
      start(reader, now: now)
    }
    audienceChanged?()
  }

  private func start(_ reader: Reader, now: Moment) {
    reader.start(with: cache.packets + cameraCache.packets, now: now)
  }

  func leave(_ reader: Reader) {
    guard readers.removeValue(forKey: ObjectIdentifier(reader)) != nil else { return }
    joiners[ObjectIdentifier(reader)] = nil
    formerDrops += reader.drops
    reader.needsKeyframe = nil
    reader.needsCameraKeyframe = nil
    audienceChanged?()
  }

  /// Hands one packet or message to every reader.
  func put(_ packet: Packet, now: Moment) {
    if packet.isCameras { cameraCache.put(packet, now: now) } else { cache.put(packet, now: now) }
    if packet.kind == .keyframe { joiners.removeAll(keepingCapacity: true) }
    for reader in readers.values { reader.put(packet, now: now) }
  }

  /// What is cached belongs to a stream description that holds no longer.
  func forgetCache() { cache.forget() }

  /// The same for the camera's.
  func forgetCameraCache() { cameraCache.forget() }

  /// Starts the joiners that have waited long enough with what there is; logs what readers lost.
  func tick(now: Moment) {
    if let line = dropLog.line(for: readers.values, now: now) { Log.note(line) }
    guard !joiners.isEmpty, !cache.packets.isEmpty else { return }
    for (identifier, since) in joiners where now - since >= RelayLimits.joinerPatience {
      joiners[identifier] = nil
      if let reader = readers[identifier] { start(reader, now: now) }
    }
  }

  /// Those present who lost something, for the status.
  var losers: [Reader] { readers.values.filter { $0.drops.packets > 0 } }
}
