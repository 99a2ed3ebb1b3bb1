import CPipeWire
import Posix

/// What a sound stream tells, on the loop's thread, inside the stream's own callbacks: the stream must
/// not be dropped there.
package protocol SoundObserver: AnyObject {
  /// Samples came: left and right in turn, good until the call returns. `time` is when the first of
  /// them was heard or recorded, in nanoseconds of CLOCK_MONOTONIC.
  func soundTook(_ samples: Span<Float>, at time: Int64)
  /// No samples follow; PipeWire's own words.
  func soundFailed(_ text: String)
}

/// Sound from one node, at 48,000 pairs of samples a second whatever the node's rate and channels: what
/// libpipewire converts in this process. Loop thread only.
///
/// It only listens: what the user hears is not changed, and a reader that is late loses samples and
/// holds nobody up.
@safe
package final class SoundStream {
  /// What is listened to.
  package enum Target: Equatable, Sendable {
    /// What the default output plays, whichever it is at a time.
    case defaultSink
    /// The default microphone, whichever it is at a time.
    case defaultSource
    /// What this output plays.
    case sink(Connection.Node)
    /// This microphone, or what this application plays; never another in its place.
    case node(Connection.Node)
  }

  /// Pairs of samples.
  package static let samplesPerSecond = 48_000
  // What others ask of the graph makes its cycles no longer than this, so that sound comes every 43 ms.
  private static let wantedCycle = 2048
  // PW_ID_ANY, a cast that Swift does not import.
  private static let anyNode = UInt32.max

  private let connection: Connection
  private weak let observer: (any SoundObserver)?
  private let raw: OpaquePointer
  private var listener: Listener<pw_stream_events>?
  /// It hears what an output plays.
  private var isMonitor = false
  /// Of one buffer, left and right in turn.
  private var pairs = [Float](repeating: 0, count: 2 * Connection.longestCycle)

  /// Makes a stream that `connect` may use; `connection` was made for sound.
  package init(
    connection: Connection, name: String, observer: any SoundObserver
  ) throws(PipeWireError) {
    self.connection = connection
    self.observer = observer
    let properties = unsafe pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_TYPE, "Audio"), (PW_KEY_MEDIA_CATEGORY, "Capture"), (PW_KEY_NODE_NAME, name),
      ("node.max-latency", "\(Self.wantedCycle)/\(Self.samplesPerSecond)"),
    ] {
      unsafe pw_properties_set(properties, key, value)
    }
    unsafe raw = try check(pw_stream_new(connection.core, name, properties), "pw_stream_new")
    let listener = Listener(Self.events)
    self.listener = listener
    unsafe pw_stream_add_listener(
      raw, listener.hook, listener.events, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit {
    listener = nil
    unsafe pw_stream_destroy(raw)
  }

  /// Begins to listen.
  package func connect(to target: Target) throws(PipeWireError) {
    let properties = unsafe pw_properties_new_string("")
    var flags =
      PW_STREAM_FLAG_AUTOCONNECT.rawValue | PW_STREAM_FLAG_MAP_BUFFERS.rawValue
    func set(_ key: String, _ value: String) { unsafe pw_properties_set(properties, key, value) }
    func bind(_ node: Connection.Node) {
      set(PW_KEY_TARGET_OBJECT, node.serial ?? String(node.id))
      set(PW_KEY_NODE_DONT_RECONNECT, "true")
      flags |= PW_STREAM_FLAG_DONT_RECONNECT.rawValue
    }
    switch target {
    case .defaultSink:
      set(PW_KEY_STREAM_CAPTURE_SINK, "true")
      isMonitor = true
    case .defaultSource: break
    case .sink(let node):
      set(PW_KEY_STREAM_CAPTURE_SINK, "true")
      bind(node)
      isMonitor = true
    case .node(let node): bind(node)
    }
    unsafe pw_stream_update_properties(raw, &properties!.pointee.dict)
    unsafe pw_properties_free(properties)
    let result = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { space in
      var builder = unsafe spa_pod_builder()
      unsafe spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      // Of both sides in turn, or with libpipewire's own size for it, the converter would hold 2 to 24 times
      // as much.
      var parameters: [2 of UnsafePointer<spa_pod>?] = unsafe [
        ph_build_sound_format(
          &builder, SPA_AUDIO_FORMAT_F32P.rawValue, UInt32(Self.samplesPerSecond)),
        ph_build_sound_buffers(
          &builder, Int32(Connection.longestCycle * MemoryLayout<Float>.size)),
      ]
      return unsafe withUnsafeMutablePointer(to: &parameters) {
        unsafe $0.withMemoryRebound(to: UnsafePointer<spa_pod>?.self, capacity: 2) {
          unsafe pw_stream_connect(
            raw, SPA_DIRECTION_INPUT, Self.anyNode, pw_stream_flags(rawValue: flags), $0, 2)
        }
      }
    }
    try PipeWire.check(result, "pw_stream_connect")
  }

  // MARK: inside libpipewire's callbacks

  private static var events: pw_stream_events {
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    unsafe events.state_changed = { context, _, state, message in
      let observer = unsafe stream(context).observer
      switch state {
      case PW_STREAM_STATE_ERROR, PW_STREAM_STATE_UNCONNECTED:
        unsafe observer?.soundFailed(
          message.map { unsafe String(cString: $0) } ?? "its source is gone")
      default: break
      }
    }
    unsafe events.process = { context in unsafe stream(context).takeAll() }
    return events
  }

  /// What waits, oldest first. libpipewire tells the time of the newest: in a cycle of the graph a device
  /// gives what was recorded before it, and an output is given what it plays from the next cycle on.
  private func takeAll() {
    var time = pw_time()
    unsafe pw_stream_get_time_n(raw, &time, MemoryLayout<pw_time>.size)
    // A reader that was away finds as many as the stream has.
    var waiting = unsafe InlineArray<16, UnsafeMutablePointer<pw_buffer>?>(repeating: nil)
    var bufferCount = 0
    // Pairs of samples.
    var (count, newest) = (0, 0)
    while unsafe bufferCount < waiting.count, let buffer = unsafe pw_stream_dequeue_buffer(raw) {
      unsafe waiting[bufferCount] = buffer
      bufferCount += 1
      unsafe newest = Self.count(of: buffer)
      count += newest
    }
    let behind = isMonitor ? count - 2 * newest : count
    let latency =
      isMonitor || time.rate.denom == 0
      ? 0 : time.delay * Int64(time.rate.num) * 1_000_000_000 / Int64(time.rate.denom)
    // Some drivers of a graph keep no clock: then what comes, comes now.
    let now = MonotonicClock.now()
    let begin = (0...Self.oldestCycle).contains(now - time.now) ? time.now : now
    var moment = begin - latency - Self.nanoseconds(of: behind)
    for index in 0..<bufferCount {
      guard let buffer = unsafe waiting[index] else { continue }
      let count = unsafe copy(buffer)
      if count > 0 {
        observer?.soundTook(pairs.span.extracting(first: 2 * count), at: moment)
        moment += Self.nanoseconds(of: count)
      }
      unsafe pw_stream_queue_buffer(raw, buffer)
    }
  }

  // A cycle that began longer ago is none of this clock's, in nanoseconds.
  private static let oldestCycle: Int64 = 1_000_000_000

  private static func nanoseconds(of pairs: Int) -> Int64 {
    Int64(pairs) * 1_000_000_000 / Int64(samplesPerSecond)
  }

  /// Pairs in a buffer; 0 where it holds none.
  private static func count(of buffer: UnsafeMutablePointer<pw_buffer>) -> Int {
    unsafe (side(0, of: buffer)?.count).map { left in
      unsafe min(left, side(1, of: buffer)?.count ?? 0, Connection.longestCycle)
    } ?? 0
  }

  /// Copies the buffer's samples into `pairs`; how many pairs they are.
  private func copy(_ buffer: UnsafeMutablePointer<pw_buffer>) -> Int {
    let count = unsafe Self.count(of: buffer)
    guard let left = unsafe Self.side(0, of: buffer), let right = unsafe Self.side(1, of: buffer)
    else { return 0 }
    for index in 0..<count {
      unsafe pairs[2 * index] = left[index]
      unsafe pairs[2 * index + 1] = right[index]
    }
    return count
  }

  /// One side's samples.
  private static func side(
    _ index: Int, of buffer: UnsafeMutablePointer<pw_buffer>
  ) -> UnsafeBufferPointer<Float>? {
    guard let content = unsafe buffer.pointee.buffer, unsafe content.pointee.n_datas > index,
      let data = unsafe content.pointee.datas?.advanced(by: index),
      let base = unsafe data.pointee.data
    else { return nil }
    let chunk = unsafe ph_read_chunk(data)
    let room = unsafe Int(data.pointee.maxsize)
    let offset = min(Int(chunk.offset), room) & ~3
    return unsafe UnsafeBufferPointer(
      start: base.advanced(by: offset).assumingMemoryBound(to: Float.self),
      count: min(Int(chunk.size), room - offset) / 4)
  }
}

private func stream(_ context: UnsafeMutableRawPointer?) -> SoundStream {
  unsafe Unmanaged<SoundStream>.fromOpaque(context!).takeUnretainedValue()
}
