import CPipeWire
import Foundation
import Glibc
internal import Posix

/// A node of sound on a loop with a thread of its own: left and right in turn, floats, 48,000 pairs a second.
final class SoundNode: @unchecked Sendable {
  static let samplesPerSecond: Int64 = 48_000

  let loop: OpaquePointer
  let stream: OpaquePointer
  private let context: OpaquePointer
  private let core: OpaquePointer
  private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
  private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
  private let process: (SoundNode) -> Void
  /// Of the cycle at hand; the driver's process may write it.
  private(set) var position: UnsafeMutablePointer<spa_io_position>?

  /// `process` is called in each cycle of the graph, on PipeWire's thread for those.
  init(
    remote: consuming OwnedFD, name: String, properties: [String: String], isOutput: Bool,
    flags: pw_stream_flags, process: @escaping (SoundNode) -> Void
  ) throws {
    self.process = process
    pw_init(nil, nil)
    loop = pw_thread_loop_new(name, nil)
    context = pw_context_new(pw_thread_loop_get_loop(loop), nil, 0)
    core = pw_context_connect_fd(context, remote.release(), nil, 0)
    let all = pw_properties_new_string("")
    for (key, value) in properties.merging([PW_KEY_NODE_NAME: name], uniquingKeysWith: { $1 }) {
      pw_properties_set(all, key, value)
    }
    stream = pw_stream_new(core, name, all)
    hook.initialize(to: spa_hook())
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    events.process = { context in
      let node = soundNode(context)
      node.process(node)
    }
    events.io_changed = { context, id, area, _ in
      guard id == SPA_IO_Position.rawValue else { return }
      soundNode(context).position = area?.assumingMemoryBound(to: spa_io_position.self)
    }
    self.events.initialize(to: events)
    pw_stream_add_listener(stream, hook, self.events, Unmanaged.passUnretained(self).toOpaque())
    let mapped = flags.rawValue | PW_STREAM_FLAG_MAP_BUFFERS.rawValue
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { space in
      var builder = spa_pod_builder()
      spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var format = ph_build_sound_format(
        &builder, SPA_AUDIO_FORMAT_F32.rawValue, UInt32(Self.samplesPerSecond))
      pw_stream_connect(
        stream, isOutput ? SPA_DIRECTION_OUTPUT : SPA_DIRECTION_INPUT, UInt32.max,
        pw_stream_flags(rawValue: mapped), &format, 1)
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

  /// Gives the next buffer with what `make` makes of each pair's moment: of the first one `start`, in nanoseconds
  /// of CLOCK_MONOTONIC, where `pairsPerSecond` are heard a second. At most `limit` pairs; in `process` alone.
  func give(limit: Int?, pairsPerSecond: Double, from start: (_ pairs: Int) -> Int64) {
    guard let buffer = pw_stream_dequeue_buffer(stream) else { return }
    let data = buffer.pointee.buffer.pointee.datas!
    let room = Int(data[0].maxsize) / 8
    let asked = Int(buffer.pointee.requested)
    let pairs = min(limit ?? (asked > 0 ? asked : room), room)
    let samples = data[0].data!.assumingMemoryBound(to: Float.self)
    let begin = start(pairs)
    for pair in 0..<pairs {
      let value = Beep.sample(at: begin + Int64(Double(pair) / pairsPerSecond * 1e9))
      samples[2 * pair] = value
      samples[2 * pair + 1] = value
    }
    data[0].chunk.pointee = spa_chunk(offset: 0, size: UInt32(pairs * 8), stride: 8, flags: 0)
    pw_stream_queue_buffer(stream, buffer)
  }
}

private func soundNode(_ context: UnsafeMutableRawPointer?) -> SoundNode {
  Unmanaged<SoundNode>.fromOpaque(context!).takeUnretainedValue()
}

/// Silence, and a tone for 50 ms from each whole second of CLOCK_MONOTONIC on.
private enum Beep {
  private static let nanoseconds: Int64 = 50_000_000
  private static let hertz = 1_000.0

  static func sample(at moment: Int64) -> Float {
    let since = moment % 1_000_000_000
    return since < nanoseconds ? Float(0.5 * sin(2 * .pi * hertz * Double(since) / 1e9)) : 0
  }
}
