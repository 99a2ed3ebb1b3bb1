import CPipeWire
import Foundation
import Glibc
package import Posix

/// A program that plays: silence, and a tone for 50 ms from each whole second of CLOCK_MONOTONIC on. Gone
/// with the value; its loop has a thread of its own.
package final class BeepPlayer: @unchecked Sendable {
  private static let samplesPerSecond: Int64 = 48_000
  private static let beepNanoseconds: Int64 = 50_000_000
  private static let hertz = 1_000.0

  private let loop: OpaquePointer
  private let stream: OpaquePointer
  private let context: OpaquePointer
  private let core: OpaquePointer
  private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
  private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)

  /// Plays into the sink with this name.
  package init(remote: consuming OwnedFD, sink: String) throws {
    pw_init(nil, nil)
    loop = pw_thread_loop_new("beeps", nil)
    context = pw_context_new(pw_thread_loop_get_loop(loop), nil, 0)
    core = pw_context_connect_fd(context, remote.release(), nil, 0)
    let properties = pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_TYPE, "Audio"), (PW_KEY_MEDIA_CATEGORY, "Playback"),
      (PW_KEY_NODE_NAME, "beeps"), (PW_KEY_TARGET_OBJECT, sink),
    ] { pw_properties_set(properties, key, value) }
    stream = pw_stream_new(core, "beeps", properties)
    hook.initialize(to: spa_hook())
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    events.process = { Unmanaged<BeepPlayer>.fromOpaque($0!).takeUnretainedValue().fill() }
    self.events.initialize(to: events)
    pw_stream_add_listener(stream, hook, self.events, Unmanaged.passUnretained(self).toOpaque())
    let flags =
      PW_STREAM_FLAG_AUTOCONNECT.rawValue | PW_STREAM_FLAG_MAP_BUFFERS.rawValue
      // The cycle that is told is the one whose samples are asked for.
      | PW_STREAM_FLAG_RT_PROCESS.rawValue
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { space in
      var builder = spa_pod_builder()
      spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var format = ph_build_sound_format(&builder, UInt32(Self.samplesPerSecond))
      pw_stream_connect(
        stream, SPA_DIRECTION_OUTPUT, UInt32.max, pw_stream_flags(rawValue: flags), &format, 1)
    }
    pw_thread_loop_start(loop)
  }

  deinit {
    pw_thread_loop_stop(loop)
    pw_stream_destroy(stream)
    pw_core_disconnect(core)
    pw_context_destroy(context)
    pw_thread_loop_destroy(loop)
    hook.deallocate()
    events.deallocate()
  }

  private func fill() {
    guard let buffer = pw_stream_dequeue_buffer(stream) else { return }
    var time = pw_time()
    pw_stream_get_time_n(stream, &time, MemoryLayout<pw_time>.size)
    let data = buffer.pointee.buffer.pointee.datas!
    let room = Int(data[0].maxsize) / 8
    let asked = Int(buffer.pointee.requested)
    let pairs = asked > 0 ? min(asked, room) : room
    let samples = data[0].data!.assumingMemoryBound(to: Float.self)
    // A stream is asked for one buffer more than the cycle at hand takes.
    let start = time.now + Int64(pairs) * 1_000_000_000 / Self.samplesPerSecond
    for pair in 0..<pairs {
      let now = start + Int64(pair) * 1_000_000_000 / Self.samplesPerSecond
      let since = now % 1_000_000_000
      let isOn = since < Self.beepNanoseconds
      let value = isOn ? Float(0.5 * sin(2 * .pi * Self.hertz * Double(since) / 1e9)) : 0
      samples[2 * pair] = value
      samples[2 * pair + 1] = value
    }
    data[0].chunk.pointee = spa_chunk(offset: 0, size: UInt32(pairs * 8), stride: 8, flags: 0)
    pw_stream_queue_buffer(stream, buffer)
  }
}
