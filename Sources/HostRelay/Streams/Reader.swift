/// Where a reader's packets go. It takes one after the other, and is offered the next when it has
/// found none.
protocol PacketSink: AnyObject {
  func offer(_ packet: Packet, now: Moment)
}

/// One consumer's place in a stream: what waits for it, and what it loses when it is slow.
///
/// It starts at a keyframe. Behind by `softDelay`, it gets no more pictures until a keyframe;
/// behind by `hardDelay` or `hardBytes`, it loses what waits. It owns no socket.
///
/// A packet for a thousand readers finds none of them in the processor's cache, so what each packet
/// touches stands together at the beginning.
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

  /// nil, before and after its time: everything waits.
  var sink: (any PacketSink)?
  private var isIdle = true
  /// True until the next keyframe: pictures that lean on lost ones are of no use.
  private(set) var awaitsKeyframe = true
  /// True from the first keyframe on.
  private(set) var hasStarted = false
  private var hasAsked = false
  /// The same of the camera beside the screen: it may be behind by itself.
  private var awaitsCameraKeyframe = true
  private var hasAskedForCamera = false
  /// Whether it was given a picture of the camera's that it can decode.
  private var hasCamera = false
  private var waiting = WaitingPackets()

  /// What logs and the status call it.
  let name: String
  /// Called when messages pile up, which it may not lose: its consumer must be closed.
  var overflowed: (() -> Void)?
  /// Called when only a keyframe can help: nothing waits and pictures are withheld.
  var needsKeyframe: (() -> Void)?
  /// The same for the camera's.
  var needsCameraKeyframe: (() -> Void)?
  private(set) var drops = Drops()
  /// Its consumer does not look: it gets messages and sound, and no pictures. It goes on at a keyframe.
  var isHeld = false {
    didSet {
      guard isHeld != oldValue else { return }
      awaitsKeyframe = true
      hasAsked = true
      loseCamera()
      guard !isHeld else { return }
      needsKeyframe?()
      if hasCamera { needsCameraKeyframe?() }
    }
  }

  init(name: String) { self.name = name }

  /// Puts a joiner's cached packets in one piece.
  func start(with cached: [Packet], now: Moment) {
    guard !cached.isEmpty else { return }
    guard !isHeld else {
      hasStarted = true
      return
    }
    for packet in cached {
      waiting.append(packet, since: nil)
      if packet.kind == .cameraKeyframe { takeCameraKeyframe() }
    }
    awaitsKeyframe = false
    hasStarted = true
    guard isIdle, let sink, let first = waiting.takeFirst() else { return }
    isIdle = false
    sink.offer(first, now: now)
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
      loseCamera()
    }
    if packet.isCameras { return put(camera: packet, now: now) }
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

  /// The next packet to send; nil when nothing waits, and then the next one will be offered.
  func take() -> Packet? {
    if let packet = waiting.takeFirst() { return packet }
    isIdle = true
    if awaitsKeyframe, hasStarted, !hasAsked {
      hasAsked = true
      needsKeyframe?()
    }
    if hasCamera, awaitsCameraKeyframe, !hasAskedForCamera { askForCamera() }
    return nil
  }

  private func put(camera packet: Packet, now: Moment) {
    guard hasStarted else { return }
    if packet.kind == .cameraKeyframe {
      takeCameraKeyframe()
    } else if waiting.delay(now: now) >= RelayLimits.softDelay {
      loseCamera()
    }
    guard awaitsCameraKeyframe else { return append(packet, now: now) }
    guard hasCamera else {
      // One that has joined, and has nothing to begin with. It is behind with nothing.
      if !hasAskedForCamera { askForCamera() }
      return
    }
    drops.behind += 1
    drops.bytes += packet.bytes.count
  }

  private func takeCameraKeyframe() {
    hasCamera = true
    awaitsCameraKeyframe = false
    hasAskedForCamera = false
  }

  private func askForCamera() {
    hasAskedForCamera = true
    needsCameraKeyframe?()
  }

  private func loseCamera() { awaitsCameraKeyframe = true }

  /// A packet is never refused for its own size: into an empty queue it always goes.
  private func isOverrun(by packet: Packet, now: Moment) -> Bool {
    waiting.liveBytes > 0
      && (waiting.delay(now: now) >= RelayLimits.hardDelay
        || waiting.liveBytes + packet.bytes.count > RelayLimits.hardBytes)
  }

  private func append(_ packet: Packet, now: Moment) {
    guard isIdle, let sink else { return waiting.append(packet, since: now) }
    isIdle = false
    sink.offer(packet, now: now)
  }
}
