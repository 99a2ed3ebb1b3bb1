import PipeWire
import Posix
import Report
import Wire

/// The encoder's thread: takes the newest frame, makes an access unit of it, and puts that into the
/// packet slot; asks nothing of the loop but its orders.
///
/// Unchecked: all state belongs to the thread that calls `run`; the stations it uses are `Sendable`.
final class EncodeThread: @unchecked Sendable {
  /// Why the thread gives up; goes to the loop.
  typealias Failure = SourceEnd

  // Nothing to wait for: look at the orders again after this long at most.
  private static let idle: Int64 = 3_600_000_000_000
  // Scarce memory halves the rate of frames, and of bits.
  private static let scarcity = 2
  // Between the PTS of two pictures, nanoseconds.
  private static let leastStep: Int64 = 1_000_000
  // A driver that fails this often in a row will not come back by itself. With the pauses between them
  // these are some eight seconds; a device that is reset takes one or two.
  private static let failureLimit = 12
  private static let longestPause: Int64 = 1_000_000_000

  private let configuration: EncoderConfiguration
  private let source: StreamDescription.Source
  private let frames: FrameSlot
  private let packets: PacketSlot
  private let orders: EncoderOrders
  private let counts: EncodeCounts
  private let onFailure: @Sendable (Failure) -> Void
  private let onImportFailure: @Sendable (DMABufChoice?) -> Void

  private var encoder: VAAPIEncoder?
  /// Made for the first frame that is a JPEG.
  private var decoder: JPEGDecoder?
  private var decodeReport = RepeatedError("the camera gave no picture")
  private var shape = FrameShape(width: 0, height: 0)
  private let frameInterval: Int64
  private var pace: FramePace
  private var tail: PictureTail
  private var describedLink: Int?
  private var describedStream: EncodedStream?
  private var bitrate: Int?
  private var isHalved = false
  private var restCount = 0
  private var lastPTS: Int64 = 0
  private var failures = 0
  /// Nothing is tried before this time, after a failure.
  private var pauseEnd: Int64 = 0
  private var failureReport = RepeatedError("a picture is lost")

  /// The configuration's size is overruled by the frames'. `onImportFailure` is told of a kind of
  /// dma-bufs that the driver cannot read after all; nil stands for all of them.
  init(
    configuration: EncoderConfiguration, source: StreamDescription.Source, frames: FrameSlot,
    packets: PacketSlot, orders: EncoderOrders, counts: EncodeCounts,
    onFailure: @escaping @Sendable (Failure) -> Void,
    onImportFailure: @escaping @Sendable (DMABufChoice?) -> Void
  ) {
    self.configuration = configuration
    self.source = source
    self.frames = frames
    self.packets = packets
    self.orders = orders
    self.counts = counts
    self.onFailure = onFailure
    self.onImportFailure = onImportFailure
    frameInterval = 1_000_000_000 / Int64(configuration.framesPerSecond)
    pace = FramePace(interval: frameInterval)
    tail = PictureTail(frameInterval: frameInterval)
    bitrate = configuration.bitsPerSecond
  }

  /// Works until the orders say it is over, or until it cannot go on.
  func run() {
    do throws(Failure) {
      while try step() {}
    } catch {
      onFailure(error)
    }
    encoder = nil
  }

  /// One wait and at most one picture; false at the end.
  private func step() throws(Failure) -> Bool {
    let order = orders.read()
    if order.isEnding { return false }
    // A packet's bytes lie in the encoder's memory.
    if order.restCount != restCount, packets.isFree {
      restCount = order.restCount
      rest()
    }
    let mayEncode = order.link != nil && !order.isPaused && packets.isFree
    let now = MonotonicClock.now()
    let unchangedDue =
      mayEncode ? whenUnchangedIsDue(order, now: now).map { max($0, pauseEnd) } : nil
    let recheckDue = mayEncode ? encoder?.recheckDue.map { max($0, pauseEnd) } : nil
    // What is late after a failure is looked at again when the pause is over.
    let turn = mayEncode && pauseEnd <= now ? pace.next(share: share(order)) : nil
    let cursorDue = turn.flatMap { whenCursorIsDue($0) }
    let isCursorDue = cursorDue.map { $0 <= now } ?? false
    // By threes: of more than that `min` makes an array.
    let wake = min(
      min(unchangedDue ?? .max, recheckDue ?? .max, cursorDue ?? .max),
      mayEncode && turn == nil ? pauseEnd : .max, now + Self.idle)
    // A frame that is there goes with the pointer.
    if let frame = frames.take(waitingUntil: wake, turn: isCursorDue ? .now : turn) {
      let began = MonotonicClock.now()
      counts.setBusy(since: began)
      defer { counts.setBusy(since: 0) }
      pace.took(at: began)
      #if DEBUG
        Faults.hang()
      #endif
      let pts = frame.pts
      guard try load(frame, isHalved: order.memory >= .picture) else { return true }
      try encode(orders.read(), pts: pts, isUnchanged: false)
      counts.record(microseconds: (MonotonicClock.now() - began) / 1000)
    } else if let recheckDue, MonotonicClock.now() >= recheckDue {
      counts.setBusy(since: MonotonicClock.now())
      defer { counts.setBusy(since: 0) }
      guard try recheck() else { return true }
      try encode(order, pts: MonotonicClock.now(), isUnchanged: false)
    } else if isCursorDue {
      counts.setBusy(since: now)
      defer { counts.setBusy(since: 0) }
      pace.took(at: now)
      try encode(order, pts: MonotonicClock.now(), isUnchanged: false)
    } else if let unchangedDue, MonotonicClock.now() >= unchangedDue {
      counts.setBusy(since: MonotonicClock.now())
      defer { counts.setBusy(since: 0) }
      try encode(order, pts: MonotonicClock.now(), isUnchanged: true)
    }
    return true
  }

  /// Gives back what it holds for pictures; the next one begins as on a new link.
  private func rest() {
    encoder = nil
    decoder = nil
    describedLink = nil
    describedStream = nil
    bitrate = configuration.bitsPerSecond
    AllocationGuard.trim()
  }

  /// When the last picture is to be sent again, if it is: to a new link, to who asks for a keyframe, and
  /// as the tail of what changed.
  private func whenUnchangedIsDue(_ order: EncoderOrders.Current, now: Int64) -> Int64? {
    guard let encoder, encoder.hasPicture else { return nil }
    if order.link != describedLink { return now }
    if orders.keyframes.isPending { return tail.keyframeDue }
    return order.memory >= .queues ? nil : tail.nextDue(hasContainers: order.hasContainers)
  }

  /// When the last picture is to be sent with the pointer where it is now, if that has changed: when a frame
  /// would be taken.
  private func whenCursorIsDue(_ turn: FramePace.Turn) -> Int64? {
    encoder?.hasPicture == true && frames.hasNewCursor ? turn.first : nil
  }

  /// Of so many frames one is wanted.
  private func share(_ order: EncoderOrders.Current) -> Int64 {
    order.memory >= .rate ? Int64(Self.scarcity) : 1
  }

  /// Brings the frame into the encoder, which is made or changed where the shape is another one.
  private func load(_ frame: consuming Frame, isHalved: Bool) throws(Failure) -> Bool {
    do throws(EncoderError) {
      guard let frame = try decoded(frame) else { return false }
      let isSame = frame.shape == shape && isHalved == self.isHalved
      shape = frame.shape
      self.isHalved = isHalved
      if let encoder {
        if !isSame {
          try encoder.reconfigure(for: shape, isHalved: isHalved)
        }
      } else {
        var configuration = configuration
        configuration.takeFrames(shape, isHalved: isHalved)
        let encoder = try VAAPIEncoder(configuration: configuration)
        for warning in encoder.warnings { Log.note(warning) }
        self.encoder = encoder
      }
      try encoder?.load(frame)
      return true
    } catch {
      try fail(error)
      return false
    }
  }

  /// The frame as samples; nil for a JPEG that is damaged, which the next one makes good.
  private func decoded(_ frame: consuming Frame) throws(EncoderError) -> Frame? {
    guard frame.format == .mjpeg else { return frame }
    let decoder = if let kept = self.decoder { kept } else { try JPEGDecoder() }
    self.decoder = decoder
    do throws(EncoderError) {
      let made = try decoder.decode(frame)
      frames.count(decoded: true)
      return made
    } catch {
      guard case .frame(let cause) = error else { throw error }
      frames.count(decoded: false)
      if let line = decodeReport.record(cause) { Log.note(line) }
      return nil
    }
  }

  /// Reads all of the last frame again, of which only the damage was looked at.
  private func recheck() throws(Failure) -> Bool {
    do throws(EncoderError) {
      return try encoder?.recheck() ?? false
    } catch {
      try fail(error)
      return false
    }
  }

  private func encode(
    _ order: EncoderOrders.Current, pts: Int64, isUnchanged: Bool
  ) throws(Failure) {
    guard let encoder, let link = order.link else { return }
    let wanted = bitrate(for: order)
    if wanted != bitrate {
      bitrate = wanted
      encoder.setBitrate(wanted)
    }
    let isRequested = orders.keyframes.take()
    let keyframe = isRequested || link != describedLink
    // Frames carry their source's time, repetitions ours: never let one overtake the other, nor come
    // so near that a container's coarser clock makes them one.
    lastPTS = max(pts, lastPTS + Self.leastStep)
    let (cursor, isMoved) = frames.takeCursor()
    encoder.cursor = cursor
    let isUnchanged = isUnchanged && !isMoved
    do throws(EncoderError) {
      let unit = try encoder.encode(keyframe: keyframe, pts: lastPTS)
      failures = 0
      pauseEnd = 0
      let isNew = link != describedLink || encoder.stream != describedStream
      describedLink = link
      describedStream = encoder.stream
      counts.change { counts in
        counts.encoded += 1
        if isUnchanged { counts.unchanged += 1 }
        if unit.isKeyframe { counts.keyframes += 1 }
        counts.bytesCopied = encoder.bytesCopied
        counts.bitsPerSecond = encoder.bitsPerSecond
        counts.allocations = AllocationGuard.threadAllocations
      }
      tail.pictureWent(
        at: MonotonicClock.now(), isUnchanged: isUnchanged, isKeyframe: unit.isKeyframe,
        byteCount: unit.byteCount)
      packets.put(
        OutgoingPacket(
          unit: unit, isUnchanged: isUnchanged && !unit.isKeyframe,
          description: isNew ? StreamDescription(encoder.stream, of: source) : nil))
    } catch {
      // What was to be seen is not lost: the picture that is loaded comes again, as a keyframe.
      orders.keyframes.request()
      try fail(error)
    }
  }

  /// What is asked for, or configured; half of it while memory is scarce.
  private func bitrate(for order: EncoderOrders.Current) -> Int? {
    let wanted = order.bitrate ?? configuration.bitsPerSecond
    guard order.memory >= .rate else { return wanted }
    let picture = configuration.wish.geometry(of: shape, isHalved: isHalved)
    let whole =
      wanted
      ?? RateControl.suitable(
        width: picture.width, height: picture.height, framesPerSecond: configuration.framesPerSecond
      )
    return whole / Self.scarcity
  }

  /// A lost picture is counted and the next one starts anew; an encoder that cannot be had, or that
  /// fails again and again, is the end, and so is want of memory.
  private func fail(_ error: EncoderError) throws(Failure) {
    switch error {
    case .unavailable(let text): throw Failure(code: .unavailable, text: text)
    case .memory(let text): throw Failure(code: .memoryLimit, text: text)
    case .importing(let choice, _):
      // Frames that can be read follow: this is no device that fails. If the picture is loaded, it goes
      // out as a keyframe.
      orders.keyframes.request()
      counts.change { $0.failed += 1 }
      if let line = failureReport.record("\(error)") { Log.note(line) }
      return onImportFailure(choice)
    case .driver, .frame: break
    }
    failures += 1
    pauseEnd =
      MonotonicClock.now() + min(frameInterval << Int64(min(failures, 16) - 1), Self.longestPause)
    counts.change { $0.failed += 1 }
    if let line = failureReport.record("\(error)") { Log.note(line) }
    if failures >= Self.failureLimit {
      throw Failure(code: .unavailable, text: "the encoder failed \(failures) times: \(error)")
    }
  }
}

extension StreamDescription {
  /// An encoder's stream as the wire says it.
  init(_ stream: EncodedStream, of source: Source) {
    self.init(
      source: source, codec: .h264,
      codedSize: Size(width: UInt32(stream.codedWidth), height: UInt32(stream.codedHeight)),
      displaySize: Size(width: UInt32(stream.displayWidth), height: UInt32(stream.displayHeight)),
      frameRate: Fraction(UInt32(stream.framesPerSecond), 1), codecString: stream.codec,
      parameterSets: stream.parameterSets)
  }
}
