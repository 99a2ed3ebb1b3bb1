import CPipeWire
import Foundation
package import Posix
import Synchronization

/// A device whose clock runs too fast or too slowly, and that drives the graph: once `end` was called it is gone.
package final class SkewedDevice: @unchecked Sendable {
  package enum Kind {
    /// It hears a beep at each whole second of CLOCK_MONOTONIC, and tells the graph no clock.
    case microphone
    /// It plays what it is given, and tells the graph its clock, as sound cards do.
    case sink
  }

  private static let cycle: Int64 = 1024

  private let kind: Kind
  private let samplesPerSecond: Double
  private let begin = MonotonicClock.now()
  private var node: SoundNode?
  private let isOver = Atomic(false)
  private let done = DispatchSemaphore(value: 0)

  /// `skew` in millionths: how much too fast it is.
  package init(_ kind: Kind, remote: consuming OwnedFD, name: String, skew: Double) throws {
    self.kind = kind
    let samplesPerSecond = Double(SoundNode.samplesPerSecond) * (1 + skew / 1_000_000)
    self.samplesPerSecond = samplesPerSecond
    let isMicrophone = kind == .microphone
    node = try SoundNode(
      remote: remote, name: name,
      properties: [
        PW_KEY_MEDIA_CLASS: isMicrophone ? "Audio/Source" : "Audio/Sink",
        PW_KEY_NODE_DESCRIPTION: name, "priority.driver": "30000",
        PW_KEY_PRIORITY_SESSION: "3000", PW_KEY_NODE_LATENCY: "\(Self.cycle)/48000",
        "node.always-process": "true",
      ],
      isOutput: isMicrophone,
      flags: pw_stream_flags(
        rawValue: PW_STREAM_FLAG_DRIVER.rawValue | PW_STREAM_FLAG_RT_PROCESS.rawValue)
    ) { node in
      guard isMicrophone else {
        if let buffer = pw_stream_dequeue_buffer(node.stream) {
          pw_stream_queue_buffer(node.stream, buffer)
        }
        return
      }
      node.give(limit: Int(Self.cycle), pairsPerSecond: samplesPerSecond) { pairs in
        // libpipewire 0.3.65 tells a cycle of delay of such a node: so much it has.
        MonotonicClock.now() - Int64(Double(Self.cycle + Int64(pairs)) / samplesPerSecond * 1e9)
      }
    }
    Thread.detachNewThread { [self] in
      drive()
      done.signal()
    }
  }

  /// Ends it; once.
  package func end() {
    isOver.store(true, ordering: .relaxed)
    done.wait()
    node = nil
  }

  /// Begins a cycle of the graph each time that a cycle's samples were heard or played.
  private func drive() {
    guard let node else { return }
    var cycles: Int64 = 0
    while !isOver.load(ordering: .relaxed) {
      cycles += 1
      let due = begin + nanoseconds(cycles)
      let wait = due - MonotonicClock.now()
      if wait > 0 { Foundation.usleep(UInt32(wait / 1000)) }
      pw_thread_loop_lock(node.loop)
      if kind == .sink { node.position.map { tell($0, cycles, at: due) } }
      pw_stream_trigger_process(node.stream)
      pw_thread_loop_unlock(node.loop)
    }
  }

  private func nanoseconds(_ cycles: Int64) -> Int64 {
    Int64(Double(cycles * Self.cycle) / samplesPerSecond * 1e9)
  }

  private func tell(
    _ position: UnsafeMutablePointer<spa_io_position>, _ cycles: Int64, at due: Int64
  ) {
    position.pointee.clock.nsec = UInt64(due)
    position.pointee.clock.rate = spa_fraction(num: 1, denom: UInt32(SoundNode.samplesPerSecond))
    position.pointee.clock.position = UInt64(cycles * Self.cycle)
    position.pointee.clock.duration = UInt64(Self.cycle)
    position.pointee.clock.delay = 0
    position.pointee.clock.rate_diff = samplesPerSecond / Double(SoundNode.samplesPerSecond)
    position.pointee.clock.next_nsec = UInt64(begin + nanoseconds(cycles + 1))
  }
}
