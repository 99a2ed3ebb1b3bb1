/// The newest keyframe and all that followed it, for those who join late.
///
/// Bounded in media time, bytes and packets. When a bound is passed the whole cache goes, since a
/// part of it decodes to nothing; the next joiner asks for a keyframe.
struct GOPCache {
  private(set) var packets: [Packet] = []
  private(set) var byteCount = 0
  /// The newest keyframe, also where what followed it was too much to keep. Alone it serves those
  /// who join while nothing follows any more.
  private(set) var keyframe: Packet?
  /// When the keyframe came; nil while the cache is empty.
  private(set) var keyframeTime: Moment?

  /// What serves where nothing follows.
  var lastPackets: [Packet] { packets.isEmpty ? keyframe.map { [$0] } ?? [] : packets }

  mutating func put(_ packet: Packet, now: Moment) {
    switch packet.kind {
    case .message: return
    case .keyframe, .cameraKeyframe:
      clear()
      keyframe = packet
      keyframeTime = now
    case .picture, .sound, .cameraPicture: guard keyframeTime != nil else { return }
    }
    packets.append(packet)
    byteCount += packet.bytes.count
    if exceedsBound { clear() }
  }

  /// What is kept belongs to a stream description that holds no longer.
  mutating func forget() {
    clear()
    keyframe = nil
  }

  private mutating func clear() {
    packets.removeAll(keepingCapacity: true)
    byteCount = 0
    keyframeTime = nil
  }

  private var exceedsBound: Bool {
    guard let first = packets.first, let last = packets.last else { return false }
    return packets.count > RelayLimits.cachePackets || byteCount > RelayLimits.cacheBytes
      || Duration.nanoseconds(last.pts - first.pts) > RelayLimits.cacheSpan
  }
}
