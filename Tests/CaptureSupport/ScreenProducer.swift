import CLinux
import CPipeWire
import Glibc
package import Posix

@testable package import PipeWire

/// A compositor's half of a screencast: a PipeWire node that hands out memfds, as the real ones do.
/// What it says of a picture is the test's to choose.
package final class ScreenProducer {
  package let name: String
  private let context: OpaquePointer
  private let core: OpaquePointer
  let stream: OpaquePointer
  private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
  private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
  let bufferCounts: ClosedRange<Int32>
  /// What it offers.
  private(set) var wished: (width: Int, height: Int)
  /// What was agreed on.
  private(set) var width: Int
  private(set) var height: Int
  package private(set) var offer: Offer
  /// Whether dma-bufs were agreed on.
  private(set) var usesDMABufs = false
  /// Whether what it refuses was agreed on.
  private(set) var isRefusing = false
  package private(set) var isStreaming = false
  package private(set) var isActive = true
  /// How many times more it agrees on a format and then fills no buffer in.
  package var unfilledCount = 0
  private var leavesUnfilled = false
  package private(set) var bufferCount = 0
  private(set) var buffers: [UnsafeMutablePointer<pw_buffer>] = []

  /// The test runs the loop. The consumer may have so many buffers as `bufferCounts` says; one number
  /// is insisted on.
  package init(
    loop: Loop, remote: consuming OwnedFD, name: String, role: String, width: Int, height: Int,
    bufferCounts: ClosedRange<Int32> = 2...16, offer: Offer = Offer()
  ) throws {
    self.name = name
    self.offer = offer
    self.bufferCounts = bufferCounts
    wished = (width, height)
    self.width = width
    self.height = height
    context = pw_context_new(loop.raw, nil, 0)
    core = pw_context_connect_fd(context, remote.release(), nil, 0)
    let properties = pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_CLASS, "Video/Source"), (PW_KEY_MEDIA_ROLE, role), (PW_KEY_NODE_NAME, name),
    ] { pw_properties_set(properties, key, value) }
    stream = pw_stream_new(core, name, properties)
    hook.initialize(to: spa_hook())
    events.initialize(to: Self.events)
    pw_stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
    let flags = PW_STREAM_FLAG_DRIVER.rawValue | PW_STREAM_FLAG_ALLOC_BUFFERS.rawValue
    try withFormats { formats, count in
      try check(
        pw_stream_connect(
          stream, SPA_DIRECTION_OUTPUT, UInt32.max, pw_stream_flags(rawValue: flags), formats,
          count), "pw_stream_connect")
    }
  }

  deinit {
    // Takes the buffers away, by `remove`.
    pw_stream_disconnect(stream)
    spa_hook_remove(hook)
    pw_stream_destroy(stream)
    pw_core_disconnect(core)
    pw_context_destroy(context)
    hook.deallocate()
    events.deallocate()
  }

  /// Offers another size, as a compositor does whose output changed.
  package func resize(width: Int, height: Int) throws {
    wished = (width, height)
    try withFormats { formats, count in
      try check(pw_stream_update_params(stream, formats, count), "pw_stream_update_params")
    }
  }

  /// No longer offers what it refuses.
  package func withdrawRefused() throws {
    offer.refused = nil
    try resize(width: wished.width, height: wished.height)
  }

  /// Stops for a while, or goes on.
  package func setActive(_ isActive: Bool) {
    self.isActive = isActive
    pw_stream_set_active(stream, isActive)
  }

  /// Sends one picture, if the consumer left a buffer for it.
  @discardableResult
  package func present(_ picture: Picture) -> Bool {
    guard isStreaming, bufferCount > 0, let buffer = pw_stream_dequeue_buffer(stream) else {
      return false
    }
    let data = buffer.pointee.buffer.pointee.datas
    if picture.isCursorAlone {
      memset(data![0].data, 0xee, Int(data![0].maxsize))
      data![0].chunk.pointee = spa_chunk(
        offset: 0, size: 0, stride: 0, flags: Int32(SPA_CHUNK_FLAG_CORRUPTED))
    } else if let painted = picture.painted {
      lay(painted, into: data!)
    } else if let coded = picture.coded {
      let count = min(coded.count, Int(data![0].maxsize) - Self.headGap)
      _ = coded.withUnsafeBytes { memcpy(data![0].data + Self.headGap, $0.baseAddress!, count) }
      data![0].chunk.pointee = spa_chunk(
        offset: UInt32(Self.headGap), size: UInt32(count), stride: 0, flags: 0)
    } else {
      draw(picture, into: data!)
    }
    fillMetas(of: buffer.pointee.buffer, picture)
    pw_stream_queue_buffer(stream, buffer)
    pw_stream_trigger_process(stream)
    return true
  }

  /// Sends what stayed behind because the consumer was not done with the one before: on a busy machine that
  /// is what was drawn last. Whether there was any.
  package func flush() -> Bool {
    var time = pw_time()
    guard pw_stream_get_time_n(stream, &time, MemoryLayout<pw_time>.size) == 0,
      time.queued_buffers > 0
    else { return false }
    pw_stream_trigger_process(stream)
    return true
  }

  private func agreed() {
    leavesUnfilled = unfilledCount > 0
    if leavesUnfilled { unfilledCount -= 1 }
    askForBuffers()
  }

  private func add(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    if leavesUnfilled { return }
    // More than any format needs.
    let byteCount =
      Self.headGap + max((width + 8) * 4 + offer.rowGap, offer.mostStride) * (height + 2)
    for index in 0..<Int(buffer.pointee.buffer.pointee.n_datas) {
      let fd = memfd_create("screen", UInt32(MFD_CLOEXEC) | UInt32(MFD_ALLOW_SEALING))
      ftruncate(fd, byteCount)
      let data = buffer.pointee.buffer.pointee.datas! + index
      data.pointee.type = (usesDMABufs ? SPA_DATA_DmaBuf : SPA_DATA_MemFd).rawValue
      data.pointee.flags = UInt32(SPA_DATA_FLAG_READWRITE)
      data.pointee.fd = Int64(fd)
      data.pointee.mapoffset = 0
      data.pointee.maxsize = UInt32(byteCount)
      data.pointee.data = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    }
    bufferCount += 1
    buffers.append(buffer)
  }

  private func remove(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    guard buffers.contains(buffer) else { return }
    bufferCount -= 1
    buffers.removeAll { $0 == buffer }
    for index in 0..<Int(buffer.pointee.buffer.pointee.n_datas) {
      let data = buffer.pointee.buffer.pointee.datas![index]
      munmap(data.data, Int(data.maxsize))
      close(Int32(data.fd))
    }
  }

  private static var events: pw_stream_events {
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    events.state_changed = { context, _, state, _ in
      producer(context).isStreaming = state == PW_STREAM_STATE_STREAMING
    }
    events.param_changed = { context, id, param in
      guard id == SPA_PARAM_Format.rawValue, let param else { return }
      producer(context).usesDMABufs = ph_has_modifier(param)
      var info = spa_video_info_raw()
      if spa_format_video_raw_parse(param, &info) >= 0 {
        producer(context).width = Int(info.size.width)
        producer(context).height = Int(info.size.height)
        producer(context).isRefusing = producer(context).offer.refused?.spa == info.format.rawValue
      }
      producer(context).agreed()
    }
    events.add_buffer = { context, buffer in producer(context).add(buffer!) }
    events.remove_buffer = { context, buffer in producer(context).remove(buffer!) }
    return events
  }
}

private func producer(_ context: UnsafeMutableRawPointer?) -> ScreenProducer {
  Unmanaged<ScreenProducer>.fromOpaque(context!).takeUnretainedValue()
}

private func check(_ result: Int32, _ call: String) throws {
  if result < 0 { throw PosixError(call, code: -result) }
}
