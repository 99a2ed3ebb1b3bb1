/// One consumer's place in a stream: what waits for it, and what it loses when it is slow.
///
/// It starts at a keyframe. Behind by `softDelay`, it gets no more pictures until a keyframe;
/// behind by `hardDelay` or `hardBytes`, it loses what waits. It owns no socket: a transport takes
/// one packet after the other and is woken when one is there.
final class Reader {
  /// Packets a reader did not get, by reason.
  struct Drops {
    /// Pictures withheld until the next keyframe.
    var behind = 0
    /// Packets thrown out of the full queue.
    var overrun = 0
    /// Of both.
    var bytes = 0

    var packets: Int { behind + overrun }

    static func += (sum: inout Drops, other: Drops) {
      sum.behind += other.behind
      sum.overrun += other.overrun
      sum.bytes += other.bytes
    }
  }

  /// What logs and the status call it.
  let name: String

  /// Called when something waits for a transport that had found nothing.
  var wake: (() -> Void)?
  /// Called when messages pile up, which it may not lose: its consumer must be closed.
  var overflowed: (() -> Void)?
  /// Called when only a keyframe can help: nothing waits and pictures are withheld.
  var needsKeyframe: (() -> Void)?
  private(set) var drops = Drops()
  /// True until the next keyframe: pictures that lean on lost ones are of no use.
  private(set) var awaitsKeyframe = true
  /// True from the first keyframe on.
  private(set) var hasStarted = false
  /// Its consumer does not look: it gets messages and sound, and no pictures. It goes on at a keyframe.
  var isHeld = false {
    didSet {
      guard isHeld != oldValue else { return }
      awaitsKeyframe = true
      hasAsked = true
      if !isHeld { needsKeyframe?() }
    }
  }

  private var waiting = WaitingPackets()
  private var isIdle = true
  private var hasAsked = false

  init(name: String) { self.name = name }

  /// Puts a joiner's cached packets in one piece.
  func start(with cached: [Packet]) {
    guard !cached.isEmpty else { return }
    guard !isHeld else {
      hasStarted = true
      return
    }
    for packet in cached { waiting.append(packet, since: nil) }
    awaitsKeyframe = false
    hasStarted = true
    wakeTransport()
  }

  /// Offers the next packet of the stream.
  func put(_ packet: Packet, now: Moment) {
    guard packet.kind != .message else {
      guard waiting.messageCount < RelayLimits.waitingMessages else {
        overflowed?()
        return
      }
      append(packet, now: now)
      return
    }
    guard !isHeld || packet.kind == .sound else {
      hasStarted = true
      return
    }
    if isOverrun(by: packet, now: now) {
      let dropped = waiting.dropPackets()
      drops.overrun += dropped.count
      drops.bytes += dropped.byteCount
      awaitsKeyframe = true
    }
    if packet.kind == .keyframe {
      awaitsKeyframe = false
      hasStarted = true
      hasAsked = false
    } else if packet.kind == .picture, waiting.delay(now: now) >= RelayLimits.softDelay {
      awaitsKeyframe = true
    }
    if hasStarted, packet.kind == .sound || !awaitsKeyframe {
      append(packet, now: now)
    } else if hasStarted {
      drops.behind += 1
      drops.bytes += packet.bytes.count
    }
  }

  /// The next packet to send; nil when nothing waits, and then `wake` will be called.
  func take() -> Packet? {
    if let packet = waiting.takeFirst() { return packet }
    isIdle = true
    if awaitsKeyframe, hasStarted, !hasAsked {
      hasAsked = true
      needsKeyframe?()
    }
    return nil
  }

  /// A packet is never refused for its own size: into an empty queue it always goes.
  private func isOverrun(by packet: Packet, now: Moment) -> Bool {
    waiting.liveBytes > 0
      && (waiting.delay(now: now) >= RelayLimits.hardDelay
        || waiting.liveBytes + packet.bytes.count > RelayLimits.hardBytes)
  }

  private func append(_ packet: Packet, now: Moment) {
    waiting.append(packet, since: now)
    wakeTransport()
  }

  private func wakeTransport() {
    guard isIdle else { return }
    isIdle = false
    wake?()
  }
}
