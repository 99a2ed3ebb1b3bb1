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
  // Between the PTS of two pictures, nanoseconds.
  private static let leastStep: Int64 = 1_000_000
  // A driver that fails this often in a row will not come back by itself.
  private static let failureLimit = 30

  private let configuration: EncoderConfiguration
  private let frames: FrameSlot
  private let packets: PacketSlot
  private let orders: EncoderOrders
  private let counts: EncodeCounts
  private let onFailure: @Sendable (Failure) -> Void

  private var encoder: VAAPIEncoder?
  private var size = (width: 0, height: 0)
  private var tail: PictureTail
  private var describedLink: Int?
  private var describedStream: EncodedStream?
  private var bitrate: Int?
  private var lastPTS: Int64 = 0
  private var failures = 0
  private var failureReport = RepeatedError("a picture is lost")

  /// The configuration's size is overruled by the frames'.
  init(
    configuration: EncoderConfiguration, frames: FrameSlot, packets: PacketSlot,
    orders: EncoderOrders, counts: EncodeCounts, onFailure: @escaping @Sendable (Failure) -> Void
  ) {
    self.configuration = configuration
    self.frames = frames
    self.packets = packets
    self.orders = orders
    self.counts = counts
    self.onFailure = onFailure
    tail = PictureTail(frameInterval: 1_000_000_000 / Int64(configuration.framesPerSecond))
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
    let mayEncode = order.link != nil && !order.isPaused && packets.isFree
    let now = MonotonicClock.now()
    var due = now + Self.idle
    if mayEncode, encoder != nil {
      if order.link != describedLink {
        due = now
      } else if orders.keyframes.isPending {
        due = tail.keyframeDue
      } else if let next = tail.nextDue(hasContainers: order.hasContainers) {
        due = next
      }
    }
    let frame = frames.take(waitingUntil: due, wantsFrame: mayEncode)
    if let frame {
      let began = MonotonicClock.now()
      let pts = frame.pts
      guard try load(frame) else { return true }
      try encode(orders.read(), pts: pts, isUnchanged: false)
      counts.record(microseconds: (MonotonicClock.now() - began) / 1000)
    } else if mayEncode, encoder != nil, MonotonicClock.now() >= due {
      try encode(order, pts: MonotonicClock.now(), isUnchanged: true)
    }
    return true
  }

  /// Brings the frame into the encoder, which is made or changed where the size is another one; the
  /// frame is given back before this returns.
  private func load(_ frame: consuming Frame) throws(Failure) -> Bool {
    do throws(EncoderError) {
      if let encoder {
        if (frame.width, frame.height) != size {
          size = (frame.width, frame.height)
          try encoder.reconfigure(width: frame.width, height: frame.height)
        }
      } else {
        size = (frame.width, frame.height)
        var configuration = configuration
        configuration.width = frame.width
        configuration.height = frame.height
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

  private func encode(
    _ order: EncoderOrders.Current, pts: Int64, isUnchanged: Bool
  ) throws(Failure) {
    guard let encoder, let link = order.link else { return }
    if let wanted = order.bitrate, wanted != bitrate {
      bitrate = wanted
      encoder.setBitrate(wanted)
    }
    let isRequested = orders.keyframes.take()
    let keyframe = isRequested || link != describedLink
    // Frames carry their source's time, repetitions ours: never let one overtake the other, nor come
    // so near that a container's coarser clock makes them one.
    lastPTS = max(pts, lastPTS + Self.leastStep)
    do throws(EncoderError) {
      let unit = try encoder.encode(keyframe: keyframe, pts: lastPTS)
      failures = 0
      let isNew = link != describedLink || encoder.stream != describedStream
      describedLink = link
      describedStream = encoder.stream
      counts.change { counts in
        counts.encoded += 1
        if isUnchanged { counts.unchanged += 1 }
        if unit.isKeyframe { counts.keyframes += 1 }
      }
      tail.pictureWent(
        at: MonotonicClock.now(), isUnchanged: isUnchanged, isKeyframe: unit.isKeyframe,
        byteCount: unit.byteCount)
      packets.put(
        OutgoingPacket(
          unit: unit, isUnchanged: isUnchanged && !unit.isKeyframe,
          description: isNew ? StreamDescription(encoder.stream) : nil))
    } catch {
      if keyframe { orders.keyframes.request() }
      try fail(error)
    }
  }

  /// A lost picture is counted and the next one starts anew; an encoder that cannot be had, or that
  /// fails again and again, is the end.
  private func fail(_ error: EncoderError) throws(Failure) {
    if case .unavailable(let text) = error { throw Failure(code: .unavailable, text: text) }
    failures += 1
    counts.change { $0.failed += 1 }
    if let line = failureReport.record("\(error)") { Log.note(line) }
    if failures >= Self.failureLimit {
      throw Failure(code: .unavailable, text: "the encoder failed \(failures) times: \(error)")
    }
  }
}

extension StreamDescription {
  /// The screen's stream as the wire says it.
  init(_ stream: EncodedStream) {
    self.init(
      source: .screen, codec: .h264,
      codedSize: Size(width: UInt32(stream.codedWidth), height: UInt32(stream.codedHeight)),
      displaySize: Size(width: UInt32(stream.displayWidth), height: UInt32(stream.displayHeight)),
      frameRate: Fraction(UInt32(stream.framesPerSecond), 1), codecString: stream.codec,
      parameterSets: stream.parameterSets)
  }
}
