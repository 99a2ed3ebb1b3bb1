import CaptureSupport
import PipeWire
import TestSupport
import Testing

extension Stress {
  /// What a source hands out is not the agent's to pay for.
  @Suite struct Sources {
    private static let seconds = isLongRun ? 600 : 6
    private static let size = (width: 3840, height: 2160)

    @Test(arguments: isLongRun ? ["address", "data"] : ["address"])
    func
      `a source that insists on 16 buffers of 4K is captured within the limit, and nothing grows`(
        tier: String
      ) throws
    {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let loop = try Loop()
        let screen = try ScreenProducer(
          loop: loop, remote: daemon.connect(), name: "greedy", role: "Screen",
          width: Self.size.width, height: Self.size.height, bufferCounts: 16...16)
        let timer = try loop.addTimer { loop.quit() }
        var picture = ScreenProducer.Picture(rows: 16)
        /// Draws for a thirtieth of a second.
        func turn() {
          picture.color &+= 1
          screen.present(picture)
          timer.arm(after: .milliseconds(33))
          loop.run()
        }
        let pair = try Pair(
          in: directory, faults: daemon.environment, asChild: true, size: nil,
          agent: ["--source", "node:greedy", "--memory-tier", tier], releasedAgent: true)
        try waitUntil(
          "live broadcast", within: .seconds(20),
          isTrue: {
            turn()
            return pair.state == "live"
          })
        let agent = try waitUntil("agent") { pair.agentPID }
        let viewer = try Viewer(port: pair.consumers)
        func draw(for duration: Duration) throws {
          let end = ContinuousClock.now + duration
          while ContinuousClock.now < end {
            turn()
            try viewer.read()
          }
        }
        try draw(for: .seconds(2))
        let packets = viewer.packets
        var growth = Growth()
        for second in 0...Self.seconds {
          growth.add(try ProcessFootprint(of: agent), second: second)
          try draw(for: .seconds(1))
        }
        let figures = pair.status?["agent"] as? [String: Any] ?? [:]
        func figure(_ name: String) -> Int { figures[name] as? Int ?? -1 }
        print("16 buffers of 4K, \(tier), \(Self.seconds) s: \(growth)")
        #expect(screen.bufferCount == 16)
        #expect(figure("frames_mapped_kb") < 1024)
        #expect(figure("vm_data_kb") < 8_192)
        #expect(tier == "data" || figure("vm_peak_kb") < 50_000)
        #expect(figure("memory_step") == 0)
        #expect(growth.isFlat, "\(growth)")
        #expect(viewer.packets - packets > Self.seconds * 8)
        #expect(viewer.brokenPackets == 0 && pair.agentPID == agent)
      }
    }
  }
}
