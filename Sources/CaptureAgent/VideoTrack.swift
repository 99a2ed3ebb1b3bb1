import PipeWire
import Posix
import Report
import Wire

/// One stream of pictures of a link: its source, its encoder's thread, and what stands between them.
///
///     ScreenSource -> FrameSlot -> EncodeThread -> PacketSlot
///
/// Everything on the loop's thread, but for the encoder's.
final class VideoTrack {
  /// What a track tells, on the loop's thread.
  enum Event {
    case source(SourceEvent)
    /// Its encoder cannot go on.
    case failed(SourceEnd)
    /// A packet waits in `packets`.
    case packet
  }

  /// What the stream shows.
  let source: StreamDescription.Source
  let frames = FrameSlot()
  let orders: EncoderOrders
  let packets: PacketSlot
  let counts = EncodeCounts()
  /// Of the frames; nil before the first.
  private(set) var format: SourceFormat?
  private let onEvent: (Event) -> Void
  private let failure = FailureBox<SourceEnd>()
  private let importFailures = FailureBox<DMABufChoice?>()
  private var frameSource: (any ScreenSource)?
  private var encoder: WorkerThread?
  private var beginnings = 0

  /// What the loop's callbacks call; there before the track is whole.
  private final class Callbacks {
    weak var track: VideoTrack?
  }

  /// `onEvent` may end the track's source.
  init(
    _ source: StreamDescription.Source, loop: Loop, onEvent: @escaping (Event) -> Void
  ) throws(PipeWireError) {
    self.source = source
    self.onEvent = onEvent
    let callbacks = Callbacks()
    let frames = frames
    orders = EncoderOrders(changed: { frames.wake() })
    packets = PacketSlot(
      filled: try loop.addEvent { callbacks.track?.onEvent(.packet) }, freed: { frames.wake() })
    failure.event = try loop.addEvent { callbacks.track?.takeFailure() }
    importFailures.event = try loop.addEvent { callbacks.track?.takeImportFailure() }
    callbacks.track = self
  }

  /// Its number on the link.
  var stream: UInt32 { UInt32(source.rawValue) }

  var frameCounts: FrameCounts {
    var counts = frameSource?.counts ?? FrameCounts()
    counts.replaced += frames.replacedCount
    counts.rejected += frames.decoding.refused
    return counts
  }

  /// Before anything streams: a thread that cannot be made is an end here, and a hang later.
  func startEncoder(_ configuration: EncoderConfiguration) throws {
    let failure = failure
    let importFailures = importFailures
    let thread = EncodeThread(
      configuration: configuration, source: source, frames: frames, packets: packets,
      orders: orders, counts: counts, onFailure: { failure.post($0) },
      onImportFailure: { importFailures.post($0) })
    encoder = try WorkerThread(name: "encoder") { thread.run() }
  }

  /// Begins with what `make` makes, unless there is a source; it is given what takes its events.
  func startSource(_ make: (@escaping (SourceEvent) -> Void) -> any ScreenSource) {
    guard frameSource == nil else { return }
    let source = make { [unowned self] event in handle(event) }
    frameSource = source
    source.start()
  }

  func stopSource() { frameSource?.stop() }

  /// Has the encoder give back what it holds for pictures, until the next frame.
  func rest() {
    _ = frames.take()
    orders.change { $0.restCount += 1 }
  }

  /// Lets a source that has ended go, so that another may begin; not from one of its events.
  func forgetSource() { frameSource = nil }

  /// A link, or the end of a pause: the pictures begin anew, with a description and a keyframe.
  func begin() {
    beginnings += 1
    let number = beginnings
    packets.restart()
    orders.change { $0.link = number }
  }

  /// Ends source and encoder. One whose thread does not come back is not waited for.
  func stop(hasHung: Bool) {
    frameSource?.stop()
    orders.change { $0.isEnding = true }
    if !hasHung { encoder?.join() }
  }

  private func handle(_ event: SourceEvent) {
    if case .format(let format) = event { self.format = format }
    onEvent(.source(event))
  }

  private func takeFailure() {
    if let end = failure.take() { onEvent(.failed(end)) }
  }

  private func takeImportFailure() {
    if let choice = importFailures.take() { frameSource?.drop(choice) }
  }
}
