import CPipeWire
import Glibc
import Posix

/// A video stream from one node, which is never moved to another: a session manager may otherwise
/// put a camera in the place of a screen that went away. Loop thread only.
@safe
package final class Stream {
  /// Buffers that a producer is asked for, where it has no wish of its own.
  package static let bufferCount = BufferWish.count
  // No more than that are kept track of.
  private static let maxBufferCount = 16
  // A session manager links within milliseconds, a busy machine within a second or two.
  private static let startPatience = Duration.seconds(10)
  // Where there is something else to ask for.
  private static let attemptPatience = Duration.seconds(3)
  // At a new size the buffers are away for 0.1 s, and for good when the producer has died.
  private static let pausePatience = Duration.seconds(1)
  // A picture of a still screen comes at once, or was given before this end was ready for it.
  private static let picturePatience = Duration.milliseconds(700)
  private static let mostKnocks = 3
  // For the producer to hear of it, by its own way from the daemon.
  private static let knockTime = Duration.milliseconds(150)
  // Buffers follow a format within milliseconds, or never: libpipewire tells nobody when it cannot map
  // them, and streams on without.
  private static let bufferPatience = Duration.seconds(2)
  // Where those that came hold nothing, and before they are asked for anew.
  private static let emptyPatience = Duration.milliseconds(100)
  private static let mostRenewals = 3

  @safe
  private struct Buffer {
    let raw: UnsafeMutablePointer<pw_buffer>
    let shared: SharedBuffer
    var isLent = false
  }

  private let connection: Connection
  private weak let observer: (any StreamObserver)?
  private let raw: OpaquePointer
  private var listener: Listener<pw_stream_events>?
  private var patience: TimerSource?
  private var knocking: TimerSource?
  private var knocks = 0
  /// Stopped from here, for a moment.
  private var isHeld = false
  private var hasPicture = false
  private var returned: EventSource?
  private var buffers: [Buffer] = []
  private var format: VideoFormat?
  private var wish = FormatWish(frameRate: 30, modifiers: [], camera: nil)
  /// Whether the producer is asked what the pointer looks like and where it is.
  private let asksForCursor: Bool
  private var cursorNews = CursorNews()
  /// What the observer knows of it.
  private var toldCursor: Cursor?
  /// The part that the last picture showed.
  private var shown = Rectangle(x: 0, y: 0, width: 0, height: 0)
  private var carriedDamage = CarriedDamage.whole
  private var lastSequence: UInt64 = 0
  private var hasStarted = false
  private var awaitsBuffers = false
  /// The producer has stopped for a while, and stands there still.
  private var isSuspended = false
  /// Why a buffer could not be taken hold of, and how often others were asked for since one could.
  private var unreadable: PosixError?
  private var renewals = 0
  private var hasEnded = false

  /// Pictures that a newer one had overtaken when they were looked at.
  package private(set) var replacedCount = 0
  /// Buffers that held no picture: corrupt, empty, or not as the format says.
  package private(set) var rejectedCount = 0
  /// Buffers that told of the pointer alone.
  package private(set) var cursorOnlyCount = 0
  /// Whether the producer tells of the pointer; nil before there are buffers.
  package private(set) var hasCursor: Bool?
  /// What is mapped of the buffers, however little is read of them: all those that libpipewire maps, and one of
  /// a device.
  package private(set) var mappedByteCount = 0
  /// Of the calls that bring pictures.
  package private(set) var callbacks = CallbackTimes()

  /// What libpipewire maps with a buffer at most where the pointer is told of.
  package static var largestCursorByteCount: Int { CursorNews.metaByteCounts.upperBound }

  /// Makes a stream that `connect` may use; `observer` is not kept alive. Fails for want of memory.
  package init(
    connection: Connection, loop: Loop, name: String, asksForCursor: Bool = false,
    observer: any StreamObserver
  ) throws(PipeWireError) {
    self.connection = connection
    self.asksForCursor = asksForCursor
    self.observer = observer
    unsafe raw = try check(pw_stream_new(connection.core, name, nil), "pw_stream_new")
    let listener = Listener(Self.events)
    self.listener = listener
    unsafe pw_stream_add_listener(
      raw, listener.hook, listener.events, Unmanaged.passUnretained(self).toOpaque())
    patience = try loop.addTimer { [unowned self] in runOut() }
    knocking = try loop.addTimer { [unowned self] in knock() }
    returned = try loop.addEvent { [weak self] in self?.requeue() }
  }

  deinit {
    returned?.remove()
    patience = nil
    knocking = nil
    listener = nil
    for buffer in buffers { buffer.shared.revoke() }
    unsafe pw_stream_destroy(raw)
  }

  /// Asks for `node`'s pictures, at most `frameRate` of them a second: in dma-bufs of one of these
  /// modifiers where the producer has them, else in memory that can be mapped. A camera is asked for
  /// exactly this; where it is not the last thing to ask it for, it is waited for less long.
  package func connect(
    to node: Connection.Node, frameRate: Int, modifiers: [UInt64] = [],
    camera: CameraFormat? = nil, isLast: Bool = true
  ) throws(PipeWireError) {
    wish = FormatWish(frameRate: frameRate, modifiers: modifiers, camera: camera)
    let properties = unsafe pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_TYPE, "Video"), (PW_KEY_MEDIA_CATEGORY, "Capture"),
      (PW_KEY_MEDIA_ROLE, camera == nil ? "Screen" : "Camera"),
      (PW_KEY_NODE_DONT_RECONNECT, "true"),
      (PW_KEY_TARGET_OBJECT, node.serial ?? String(node.id)),
    ] { unsafe pw_properties_set(properties, key, value) }
    unsafe pw_stream_update_properties(raw, &properties!.pointee.dict)
    unsafe pw_properties_free(properties)
    let flags = PW_STREAM_FLAG_AUTOCONNECT.rawValue | PW_STREAM_FLAG_DONT_RECONNECT.rawValue
    let result = unsafe wish.withParameters { params, count in
      unsafe pw_stream_connect(
        raw, SPA_DIRECTION_INPUT, node.id, pw_stream_flags(rawValue: flags), params, count)
    }
    try PipeWire.check(result, "pw_stream_connect")
    patience?.arm(after: isLast ? Self.startPatience : Self.attemptPatience)
  }

  /// Asks anew, without dma-bufs of a kind that could not be read after all, or (nil) without any;
  /// false when they were not asked for.
  package func drop(_ choice: DMABufChoice?) -> Bool {
    guard wish.drop(choice) else { return false }
    askForFormats()
    return true
  }

  /// At which the two ends agree anew, on the same format if it is still the best.
  private func askForFormats() {
    let result = unsafe wish.withParameters { params, count in
      unsafe pw_stream_update_params(raw, params, count)
    }
    if result < 0 { end(.failed("the formats cannot be asked for anew")) }
  }

  // MARK: inside libpipewire's callbacks

  private static var events: pw_stream_events {
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    unsafe events.state_changed = { context, _, state, message in
      unsafe stream(context).stateChanged(state, message.map { unsafe String(cString: $0) })
    }
    unsafe events.param_changed = { context, id, param in
      if id == SPA_PARAM_Format.rawValue { unsafe stream(context).formatChanged(param) }
    }
    unsafe events.add_buffer = { context, buffer in unsafe stream(context).add(buffer!) }
    unsafe events.remove_buffer = { context, buffer in unsafe stream(context).remove(buffer!) }
    unsafe events.process = { context in
      let began = MonotonicClock.now()
      unsafe stream(context).takeNewest()
      unsafe stream(context).callbacks.add(MonotonicClock.now() - began)
    }
    return events
  }

  private func stateChanged(_ state: pw_stream_state, _ message: String?) {
    switch state {
    case PW_STREAM_STATE_ERROR: end(.failed(message ?? "stream error"))
    case PW_STREAM_STATE_UNCONNECTED: end(hasStarted ? .unlinked : .neverStarted)
    case PW_STREAM_STATE_PAUSED where !buffers.isEmpty: patience?.arm(after: Self.pausePatience)
    case PW_STREAM_STATE_STREAMING:
      if !awaitsBuffers { patience?.disarm() }
      suspend(false)
      if !hasPicture, !isHeld, wish.camera == nil {
        knocking?.arm(after: Self.picturePatience * (1 << knocks))
      }
    default: break
    }
  }

  private func formatChanged(_ param: UnsafePointer<spa_pod>?) {
    format = nil
    guard let param = unsafe param else { return }
    var info = spa_video_info_raw()
    guard unsafe spa_format_video_raw_parse(param, &info) >= 0,
      let pixel = unsafe pixelFormat(of: param, info),
      info.size.width > 0, info.size.width <= FormatWish.largestSide,
      info.size.height > 0, info.size.height <= FormatWish.largestSide
    else { return end(.failed("the producer chose a format that was not offered")) }
    let agreed = VideoFormat(
      pixel: pixel, width: Int(info.size.width), height: Int(info.size.height),
      modifier: unsafe ph_has_modifier(param) ? info.modifier : nil, colour: SampleColour(info))
    format = agreed
    carriedDamage = .whole
    unreadable = nil
    if buffers.isEmpty {
      awaitsBuffers = true
      patience?.arm(after: Self.bufferPatience)
    }
    askForBuffers()
    observer?.streamAgreed(on: agreed)
  }

  /// JPEGs only where they were asked for.
  private func pixelFormat(
    of param: UnsafePointer<spa_pod>, _ info: spa_video_info_raw
  ) -> PixelFormat? {
    var type: UInt32 = 0
    var subtype: UInt32 = 0
    guard unsafe spa_format_parse(param, &type, &subtype) >= 0 else { return nil }
    if wish.camera?.pixel == .mjpeg {
      return subtype == SPA_MEDIA_SUBTYPE_mjpg.rawValue ? .mjpeg : nil
    }
    return subtype == SPA_MEDIA_SUBTYPE_raw.rawValue
      ? PixelFormat(spa: info.format.rawValue) : nil
  }

  private func askForBuffers() {
    guard let format else { return }
    let wish = BufferWish(format: format, asksForCursor: asksForCursor)
    unsafe wish.withParameters { params, count in
      unsafe pw_stream_update_params(raw, params, count)
    }
  }

  private func add(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    guard let returned, let format, buffers.count < Self.maxBufferCount else { return }
    do throws(PosixError) {
      let shared = unsafe try SharedBuffer(
        of: buffer.pointee.buffer, format: format, returned: returned)
      unsafe buffers.append(Buffer(raw: buffer, shared: shared))
      mappedByteCount =
        buffers.reduce(0) { $0 + $1.shared.standingByteCount }
        + buffers.reduce(0) { max($0, $1.shared.wholeByteCount) }
      hasCursor = unsafe CursorNews.isTold(in: buffer.pointee.buffer)
      hasStarted = true
      awaitsBuffers = false
      renewals = 0
      patience?.disarm()
    } catch {
      // Where sizes change quickly, buffers may come that nobody has filled in (PipeWire 0.3.65); others may
      // follow. What comes in it is no picture.
      unreadable = error
      if awaitsBuffers, renewals < Self.mostRenewals { patience?.arm(after: Self.emptyPatience) }
    }
  }

  private func remove(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    guard let index = buffers.firstIndex(where: { unsafe $0.raw == buffer }) else { return }
    buffers.remove(at: index).shared.revoke()
    // A session manager suspends a producer some seconds after it has stopped.
    if buffers.isEmpty, !isSuspended { patience?.arm(after: Self.pausePatience) }
  }

  private func takeNewest() {
    var newest: (index: Int, layout: PictureLayout)?
    var hasRefused = false
    while let buffer = unsafe pw_stream_dequeue_buffer(raw) {
      if asksForCursor {
        unsafe cursorNews.take(from: buffer.pointee.buffer)
        if unsafe PictureLayout.isCursorAlone(buffer.pointee.buffer) {
          cursorOnlyCount += 1
          if unsafe !isNext(PictureLayout.sequence(of: buffer.pointee.buffer)) {
            carriedDamage = .whole
          }
          unsafe pw_stream_queue_buffer(raw, buffer)
          continue
        }
      }
      guard let index = buffers.firstIndex(where: { unsafe $0.raw == buffer }), let format,
        let layout = unsafe PictureLayout(
          buffer.pointee.buffer, in: buffers[index].shared, format: format)
      else {
        // What it would have told of is not told again.
        carriedDamage = .whole
        rejectedCount += 1
        if let format, unsafe !PictureLayout.isEmpty(buffer.pointee.buffer, format: format) {
          hasRefused = true
        }
        unsafe pw_stream_queue_buffer(raw, buffer)
        continue
      }
      if let older = newest {
        replacedCount += 1
        unsafe pw_stream_queue_buffer(raw, buffers[older.index].raw)
      }
      carriedDamage.add(isNext(layout.sequence) ? layout.damage : nil)
      newest = (index, layout)
    }
    if let layout = newest?.layout { shown = layout.crop }
    tellCursor(isAlone: newest == nil)
    guard let (index, last) = newest else {
      if hasRefused { observer?.streamRefused() }
      return
    }
    var layout = last
    layout.damage = carriedDamage.take()
    buffers[index].isLent = true
    hasPicture = true
    observer?.streamTook(buffers[index].shared.lend(), layout)
  }

  private func tellCursor(isAlone: Bool) {
    var cursor = cursorNews.cursor
    cursor?.x -= shown.x
    cursor?.y -= shown.y
    guard cursor != toldCursor else { return }
    toldCursor = cursor
    observer?.streamMoved(cursor, isAlone: isAlone)
  }

  /// Whether no picture was lost before this one, whose damage says what is new since the last.
  private func isNext(_ sequence: UInt64) -> Bool {
    defer { lastSequence = sequence }
    // Some producers do not count.
    return sequence == 0 || sequence == lastSequence &+ 1
  }

  private func requeue() {
    for index in buffers.indices where buffers[index].isLent && buffers[index].shared.collect() {
      buffers[index].isLent = false
      unsafe pw_stream_queue_buffer(raw, buffers[index].raw)
    }
  }

  /// Stops and goes on, at which a screen that stands still gives its picture once more. A producer that has
  /// none to give is asked a few times, more and more seldom.
  private func knock() {
    guard !hasEnded else { return }
    if isHeld {
      isHeld = false
      unsafe pw_stream_set_active(raw, true)
    } else if !hasPicture, knocks < Self.mostKnocks {
      knocks += 1
      isHeld = true
      unsafe pw_stream_set_active(raw, false)
      knocking?.arm(after: Self.knockTime)
    }
  }

  private func runOut() {
    if awaitsBuffers {
      guard let unreadable else { return end(.noBuffers) }
      guard renewals < Self.mostRenewals else { return end(.failed("\(unreadable)")) }
      renewals += 1
      patience?.arm(after: Self.bufferPatience)
      return askForFormats()
    }
    // A link that is gone takes the buffers along. A camera is not waited for.
    if !buffers.isEmpty, wish.camera == nil { return suspend(true) }
    end(hasStarted ? .unlinked : .neverStarted)
  }

  private func suspend(_ isSuspended: Bool) {
    guard isSuspended != self.isSuspended else { return }
    self.isSuspended = isSuspended
    observer?.streamSuspended(isSuspended)
  }

  private func end(_ end: StreamEnd) {
    guard !hasEnded else { return }
    hasEnded = true
    patience?.disarm()
    observer?.streamEnded(end)
  }
}

private func stream(_ context: UnsafeMutableRawPointer?) -> Stream {
  unsafe Unmanaged<Stream>.fromOpaque(context!).takeUnretainedValue()
}
