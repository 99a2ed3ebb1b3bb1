import Foundation
import Posix
import Synchronization
import TestSupport
import Testing

extension Broadcast {
  /// PipeWire's calls into the agent wait for nothing, so that none takes as long as a frame: but for how long
  /// the machine itself has held up whoever runs on it.
  func expectQuickCallbacks(framesPerSecond: Int = 30, but pauses: MachinePauses) throws {
    let name = "porthole_agent_callback_max_us "
    let most = try waitUntil("figure of PipeWire's calls") { () -> Int? in
      let run = try ProcessRun.run("curl", ["-s", "-m", "5", "\(page)/metrics"], in: directory)
      let line = run.output.split(separator: "\n").first { $0.hasPrefix(name) }
      return line.flatMap { Int($0.dropFirst(name.count)) }.flatMap { $0 > 0 ? $0 : nil }
    }
    let pause = pauses.longestMicroseconds
    print("PipeWire's longest call with a frame took \(most) us; the machine's pauses \(pause) us")
    #expect(most < 1_000_000 / framesPerSecond + 2 * pause)
  }
}

/// How long a thread that wants to run has waited for a processor at most, since this was made.
final class MachinePauses: Sendable {
  private let longest = Atomic<Int64>(0)

  init() {
    Thread.detachNewThread { [weak self] in
      while self != nil {
        let wanted = MonotonicClock.now() + 5_000_000
        usleep(5000)
        self?.longest.max(MonotonicClock.now() - wanted, ordering: .relaxed)
      }
    }
  }

  var longestMicroseconds: Int { Int(longest.load(ordering: .relaxed) / 1000) }
}
