import CPipeWire
import Foundation
import Glibc
package import Posix
import Synchronization

/// A microphone whose clock runs too fast or too slowly: it drives the graph, and hears a tone for 50 ms from
/// each whole second of CLOCK_MONOTONIC on. Gone with the value; its loop has a thread of its own.
package final class SkewedMicrophone: @unchecked Sendable {
  private static let cycle: Int64 = 1024
  private static let beepNanoseconds: Int64 = 50_000_000
  private static let hertz = 1_000.0

  private let samplesPerSecond: Double
  private let begin = MonotonicClock.now()
  /// Samples that were given, by this device's clock since `begin`.
  private var given: Int64 = 0
  private let loop: OpaquePointer
  private let stream: OpaquePointer
  private let context: OpaquePointer
  private let core: OpaquePointer
  private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
  private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
  private let isOver = Atomic(false)
  private let done = DispatchSemaphore(value: 0)

  /// `skew` in millionths: how much too fast it is.
  package init(remote: consuming OwnedFD, name: String, skew: Double) throws {
    samplesPerSecond = 48_000 * (1 + skew / 1_000_000)
    pw_init(nil, nil)
    loop = pw_thread_loop_new("skewed", nil)
    context = pw_context_new(pw_thread_loop_get_loop(loop), nil, 0)
    core = pw_context_connect_fd(context, remote.release(), nil, 0)
    let properties = pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_CLASS, "Audio/Source"), (PW_KEY_NODE_NAME, name),
      (PW_KEY_NODE_DESCRIPTION, name), ("priority.driver", "30000"),
      (PW_KEY_PRIORITY_SESSION, "3000"),
      (PW_KEY_NODE_LATENCY, "1024/48000"), ("node.always-process", "true"),
    ] { pw_properties_set(properties, key, value) }
    stream = pw_stream_new(core, name, properties)
    hook.initialize(to: spa_hook())
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    events.process = { Unmanaged<SkewedMicrophone>.fromOpaque($0!).takeUnretainedValue().fill() }
    self.events.initialize(to: events)
    pw_stream_add_listener(stream, hook, self.events, Unmanaged.passUnretained(self).toOpaque())
    let flags =
      PW_STREAM_FLAG_DRIVER.rawValue | PW_STREAM_FLAG_MAP_BUFFERS.rawValue
      | PW_STREAM_FLAG_RT_PROCESS.rawValue
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { space in
      var builder = spa_pod_builder()
      spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var format = ph_build_sound_format(&builder, 48_000)
      pw_stream_connect(
        stream, SPA_DIRECTION_OUTPUT, UInt32.max, pw_stream_flags(rawValue: flags), &format, 1)
    }
    pw_thread_loop_start(loop)
    Thread.detachNewThread { [self] in
      drive()
      done.signal()
    }
  }

  /// Ends it; once.
  package func end() {
    isOver.store(true, ordering: .relaxed)
    done.wait()
    pw_thread_loop_stop(loop)
    pw_stream_destroy(stream)
    pw_core_disconnect(core)
    pw_context_destroy(context)
    pw_thread_loop_destroy(loop)
    hook.deallocate()
    events.deallocate()
  }

  /// Begins a cycle of the graph each time that a cycle's samples were heard.
  private func drive() {
    var cycles: Int64 = 0
    while !isOver.load(ordering: .relaxed) {
      cycles += 1
      let due = begin + Int64(Double(cycles * Self.cycle) / samplesPerSecond * 1e9)
      let wait = due - MonotonicClock.now()
      if wait > 0 { Foundation.usleep(UInt32(wait / 1000)) }
      pw_thread_loop_lock(loop)
      pw_stream_trigger_process(stream)
      pw_thread_loop_unlock(loop)
    }
  }

  private func fill() {
    guard let buffer = pw_stream_dequeue_buffer(stream) else { return }
    let data = buffer.pointee.buffer.pointee.datas!
    let pairs = min(Int(data[0].maxsize) / 8, Int(Self.cycle))
    let samples = data[0].data!.assumingMemoryBound(to: Float.self)
    // libpipewire 0.3.65 tells a cycle of delay of such a node: so much it has.
    let end = MonotonicClock.now() - Int64(Double(Self.cycle) / samplesPerSecond * 1e9)
    for pair in 0..<pairs {
      let moment = end - Int64(Double(pairs - pair) / samplesPerSecond * 1e9)
      let since = moment % 1_000_000_000
      let isOn = since < Self.beepNanoseconds
      let value = isOn ? Float(0.5 * sin(2 * .pi * Self.hertz * Double(since) / 1e9)) : 0
      samples[2 * pair] = value
      samples[2 * pair + 1] = value
    }
    data[0].chunk.pointee = spa_chunk(offset: 0, size: UInt32(pairs * 8), stride: 8, flags: 0)
    pw_stream_queue_buffer(stream, buffer)
  }
}
