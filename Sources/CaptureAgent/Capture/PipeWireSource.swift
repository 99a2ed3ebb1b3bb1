import PipeWire
import Pixels
import Posix
import Report
import Wire

/// One node's pictures as frames: a screencast through the portal's connection, or any node.
final class PipeWireSource: ScreenSource {
  /// How the node is found.
  enum Target: Equatable, Sendable, CustomStringConvertible {
    /// As the portal names it.
    case granted(GrantedNode)
    /// `node.name` or `object.serial`, as a user names it.
    case nameOrSerial(String)
    /// One of the cameras that the connection shows.
    case camera(CameraWish)

    var description: String {
      switch self {
      case .granted(let node): "\(node.id)"
      case .nameOrSerial(let word): word
      case .camera(let wish): wish.name ?? "camera"
      }
    }

    /// What it is called in words for people.
    fileprivate var subject: String {
      if case .camera = self { "the camera" } else { "the screen's PipeWire node" }
    }
  }

  // Of a camera that refuses one after the other: it is busy, or broken.
  private static let mostAttempts = 4
  // A session manager shows a portal's client its cameras one by one, within so long.
  private static let showingPatience = Duration.seconds(2)

  private let loop: Loop
  private let slot: FrameSlot
  private let target: Target
  private let frameRate: Int
  private let modifiers: [UInt64]
  private let asksForCursor: Bool
  private var saysWhetherCursor: Bool
  private let onEvent: (SourceEvent) -> Void
  private var remote: OwnedFD?
  private var mailbox: EventMailbox?
  private var brokenSpell: BrokenSpell?
  private var connection: Connection?
  private var stream: Stream?
  private var node: Connection.Node?
  private var formats: NodeFormats?
  private var showing: TimerSource?
  /// A camera's ways that are still to be tried, the best first; and all that it has, in words.
  private var choices: [CameraFormat] = []
  private var offered = ""
  private var nextAttempt: EventSource?
  /// How many of a camera's ways were tried.
  private(set) var attemptCount = 0
  private let isRemote: Bool
  private var format: VideoFormat?
  /// What was said of it last.
  private var told = SourceFormat(width: 0, height: 0)
  private var clock = FrameClock()
  private var transform: UInt32 = 0
  /// How many turns were said since when.
  private var turnsSaid = (count: 0, since: Int64.min)
  /// What became of the pictures that came so far, but for what the stream that runs counts.
  private var settled = FrameCounts()

  /// `remote` is a connection to PipeWire that the portal opened; nil stands for the user's own.
  /// `modifiers` are those of dma-bufs that the encoder imports; `asksForCursor`: the node is to describe
  /// the pointer, which the encoder draws.
  init(
    loop: Loop, slot: FrameSlot, target: Target, remote: consuming OwnedFD? = nil, frameRate: Int,
    modifiers: [UInt64] = [], asksForCursor: Bool = false,
    onEvent: @escaping (SourceEvent) -> Void
  ) {
    self.loop = loop
    self.slot = slot
    self.target = target
    isRemote = remote != nil
    self.remote = remote
    self.frameRate = frameRate
    self.modifiers = modifiers
    self.asksForCursor = asksForCursor
    saysWhetherCursor = asksForCursor
    self.onEvent = onEvent
  }

  var isAlive: Bool { connection != nil }

  var counts: FrameCounts {
    FrameCounts(
      taken: settled.taken, replaced: settled.replaced + (stream?.replacedCount ?? 0),
      rejected: settled.rejected + (stream?.rejectedCount ?? 0), mistimed: clock.mistimedCount,
      callbacks: settled.callbacks.merged(with: stream?.callbacks ?? CallbackTimes()))
  }

  func start() {
    do {
      mailbox = try EventMailbox(loop: loop) { [weak self] in self?.deliver($0) }
      brokenSpell = try BrokenSpell(loop: loop) { [unowned self] in mailbox?.post(.broken($0)) }
      let connection = try Connection(loop: loop, fd: remote.take())
      connection.onNodeRemoved = { [unowned self] removed in
        if removed.id == node?.id {
          end(.unavailable, "\(target.subject) is gone", word: .sourceEnded)
        }
      }
      connection.onLost = { [unowned self] in end(.unavailable, "PipeWire's daemon is gone") }
      connection.roundTrip { [unowned self] in connectStream() }
      self.connection = connection
    } catch {
      stop()
      onEvent(.ended(.withoutPipeWire(error)))
    }
  }

  func stop() {
    mailbox?.close()
    mailbox = nil
    brokenSpell = nil
    settled = counts
    showing = nil
    formats = nil
    nextAttempt?.remove()
    nextAttempt = nil
    stream = nil
    connection = nil
  }

  func drop(_ choice: DMABufChoice?) {
    guard stream?.drop(choice) == true else { return }
    let which =
      choice.map { "of \($0.format) with modifier 0x" + String($0.modifier, radix: 16) }
      ?? "in dma-bufs"
    Log.note("the driver cannot read frames \(which): asking for others")
  }

  private func connectStream() {
    guard let connection else { return }
    guard let node = find(in: connection.nodes) else {
      return endWithoutNode(among: connection.nodes)
    }
    self.node = node
    showing = nil
    if case .camera(let wish) = target { return chooseFormat(of: node, for: wish) }
    connectStream(to: node)
  }

  private func connectStream(to node: Connection.Node, camera: CameraFormat? = nil) {
    guard let connection else { return }
    do {
      let stream = try Stream(
        connection: connection, loop: loop, name: "porthole-capture",
        asksForCursor: asksForCursor, observer: self)
      self.stream = stream
      try stream.connect(
        to: node, frameRate: frameRate, modifiers: modifiers, camera: camera,
        isLast: choices.isEmpty)
    } catch {
      end(.unavailable, "PipeWire gave no stream: \(error)")
    }
  }

  /// Asks the camera what it can do, and for the best of that; for the next best where that is refused.
  private func chooseFormat(of node: Connection.Node, for wish: CameraWish) {
    guard let connection else { return }
    formats = NodeFormats(of: node, on: connection) { [unowned self] modes in
      offered = CameraChoice.list(modes)
      choices = Array(CameraChoice.ranked(modes, for: wish).prefix(Self.mostAttempts))
      guard !choices.isEmpty else {
        return end(
          .unavailable,
          "\(node.name ?? "the camera") gives no pictures that are read here: it has \(offered)")
      }
      attempt()
    }
    nextAttempt = try? loop.addEvent { [weak self] in self?.attempt() }
    if formats == nil { end(.unavailable, "PipeWire shows no nodes") }
  }

  private func endWithoutNode(among nodes: [Connection.Node]) {
    switch target {
    case .granted:
      end(
        .unavailable, "the screen's PipeWire node is gone, before its first picture",
        word: .sourceEnded)
    case .nameOrSerial:
      end(.unavailable, "no PipeWire node is \(target): `pw-cli ls Node` lists them")
    case .camera(let wish):
      guard isRemote, showing == nil else {
        if showing == nil { end(.unavailable, wish.absence(among: nodes)) }
        return
      }
      waitForCamera(wish)
    }
  }

  /// Asks for the best of the camera's ways that was not tried yet.
  private func attempt() {
    guard let node, let connection else { return }
    if choices.first?.pixel == .mjpeg, !JPEGDecoder.isAvailable {
      Log.note("libjpeg.so.62 cannot be loaded: install the package libjpeg62-turbo")
      choices.removeAll { $0.pixel == .mjpeg }
    }
    guard !choices.isEmpty else {
      return end(
        .unavailable, "the camera's JPEGs cannot be decoded without libjpeg: it has \(offered)")
    }
    settled = counts
    stream = nil
    let format = choices.removeFirst()
    attemptCount += 1
    Log.note(
      "camera \(node.title ?? node.name ?? "\(node.id)"): \(format.size) at \(format.rate), "
        + "\(format.pixel)")
    // Behind the end of the last attempt's stream: until then the camera keeps to what was agreed with that.
    connection.roundTrip { [weak self] in self?.connectStream(to: node, camera: format) }
  }

  /// Whether a camera that would not give its pictures so is asked for them otherwise.
  private func triesNext(after end: StreamEnd) -> Bool {
    guard !choices.isEmpty, counts.taken == 0, end != .unlinked, let nextAttempt else {
      return false
    }
    Log.note("the camera does not give its pictures so: its next best way is asked for")
    nextAttempt.signal()
    return true
  }

  /// Looks again until the session manager has shown the camera.
  private func waitForCamera(_ wish: CameraWish) {
    let end = MonotonicClock.now() + Self.showingPatience.nanoseconds
    showing = try? loop.addTimer { [unowned self] in
      guard let connection else { return }
      if wish.find(in: connection.nodes) != nil {
        connectStream()
      } else if MonotonicClock.now() >= end {
        showing = nil
        self.end(.unavailable, wish.absence(among: connection.nodes))
      }
    }
    showing?.arm(after: .milliseconds(50), every: .milliseconds(50))
  }

  private func find(in nodes: [Connection.Node]) -> Connection.Node? {
    switch target {
    case .granted(let granted): nodes.first { granted.isOne($0) }
    case .nameOrSerial(let word):
      nodes.first { $0.name == word } ?? nodes.first { $0.serial == word }
    case .camera(let wish): wish.find(in: nodes)
    }
  }

  private func end(_ code: ExitCode, _ text: String, word: FinishCode? = nil) {
    mailbox?.post(.ended(SourceEnd(code: code, text: text, word: word)))
  }

  private func deliver(_ event: SourceEvent) {
    if case .ended = event { stop() }
    onEvent(event)
  }
}

extension PipeWireSource: StreamObserver {
  func streamAgreed(on format: VideoFormat) {
    let before = self.format
    self.format = format
    // A producer may settle one size several times over, and the same size in other memory.
    guard (format.width, format.height) != before.map({ ($0.width, $0.height) }) ?? (0, 0) else {
      return
    }
    tellFormat()
  }

  private func tellFormat() {
    guard let format else { return }
    told = SourceFormat(
      width: format.width, height: format.height, isCoded: format.pixel == .mjpeg,
      mappedByteCount: stream?.mappedByteCount ?? 0)
    mailbox?.post(.format(told))
  }

  func streamTook(_ lease: consuming BufferLease, _ layout: PictureLayout) {
    // Buffers come behind the format.
    if stream?.mappedByteCount != told.mappedByteCount { tellFormat() }
    if layout.transform != transform {
      transform = layout.transform
      sayTurn()
    }
    let format = layout.format
    let dmaBuf = lease.dmaBuf.map { buffer in
      DMABufPicture(
        buffer: buffer, format: format.pixel, width: format.width, height: format.height,
        planes: layout.planes, crop: layout.crop)
    }
    guard
      let frame = Frame(
        lease: lease, format: format.pixel, planes: layout.planes, crop: layout.crop,
        codedSize: FrameSize(format.width, format.height),
        colour: FrameColour(of: format, isVideoDevice: node?.isDevice == true),
        pts: clock.time(said: layout.pts, now: MonotonicClock.now()),
        orientation: Orientation(undoing: layout.transform),
        damage: layout.damage, dmaBuf: dmaBuf)
    else {
      settled.rejected += 1
      return streamRefused()
    }
    settled.taken += 1
    brokenSpell?.sawWhole()
    slot.put(frame)
    if saysWhetherCursor, let stream {
      saysWhetherCursor = false
      if stream.hasCursor == false {
        Log.note("\(target.subject) does not tell of the cursor: none is drawn")
      }
    }
  }

  func streamSuspended(_ isSuspended: Bool) { mailbox?.post(.suspended(isSuspended)) }

  func streamRefused() { brokenSpell?.sawBroken() }

  func streamMoved(_ cursor: Cursor?, isAlone: Bool) { slot.put(cursor, isAlone: isAlone) }

  /// A producer may tell of another turn with each picture: a few a second are enough.
  private func sayTurn() {
    let now = MonotonicClock.now()
    if turnsSaid.since == .min || now - turnsSaid.since > 1_000_000_000 { turnsSaid = (0, now) }
    turnsSaid.count += 1
    guard turnsSaid.count <= 3 else { return }
    Log.note(
      transform == 0
        ? "the screen's pictures are upright again"
        : "the screen's pictures come turned (SPA transform \(transform))")
  }

  func streamEnded(_ end: StreamEnd) {
    if triesNext(after: end) { return }
    switch end {
    case _ where !offered.isEmpty && counts.taken == 0 && end != .unlinked:
      self.end(.unavailable, "the camera gives no pictures (\(end.words)): it has \(offered)")
    case .neverStarted:
      self.end(
        .unavailable,
        "PipeWire started no stream from the node: it has no picture in RGB, NV12, I420 or YUY2, or "
          + "no session manager (wireplumber) is running")
    case .noBuffers: endWithoutBuffers()
    case .unlinked:
      // A node that went is announced after the stream's own end.
      connection?.roundTrip { [unowned self] in
        self.end(
          .unavailable,
          "PipeWire took the stream off \(target.subject): is its session manager running?")
      }
    case .failed(let text): self.end(.unavailable, "the PipeWire stream failed: \(text)")
    }
  }

  /// What a producer cannot share, libpipewire maps whole, and says nothing when there is no room.
  private func endWithoutBuffers() {
    let byteCount = format.map { $0.width * $0.height * PixelFormat.Plane.pixels.byteCount } ?? 0
    if SharedBuffer.canMap(2 * byteCount) {
      end(.unavailable, "PipeWire gave no buffers for the node's pictures")
    } else {
      end(
        .memoryLimit, "no room to map the source's buffers, two of \(byteCount >> 10) kB at least")
    }
  }
}
