import TestSupport
import Testing

extension Stress {
  @Suite struct Soaks {
    private static let seconds = isLongRun ? 600 : 20

    @Test func `a broadcast that goes on takes no more memory: its slope is flat`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let pair = try Pair(
          in: directory, faults: desktop.environment, asChild: false, size: nil,
          releasedAgent: true)
        try waitUntil("live broadcast", within: .seconds(20), isTrue: { pair.state == "live" })
        let agent = try waitUntil("agent") { pair.agentPID }
        let viewer = try Viewer(port: pair.consumers)
        try waitUntil("sixty pictures", within: .seconds(20)) {
          try viewer.read()
          return viewer.packets > 60 ? () : nil
        }
        let began = ContinuousClock.now
        let packets = viewer.packets
        var samples: [(hours: Double, kB: Double)] = []
        var sizes: Set<Int> = []
        for second in 0...Self.seconds {
          try waitUntil("second \(second)", within: .seconds(2)) {
            try viewer.read()
            return ContinuousClock.now - began >= .seconds(second) ? () : nil
          }
          let use = try ProcessUse(of: agent)
          samples.append((Double(second) / 3600, Double(use.anonymousKB)))
          sizes.insert(use.dataKB)
        }
        let slope = slope(of: samples)
        let grown = (samples.last?.kB ?? 0) - (samples.first?.kB ?? 0)
        print("\(Self.seconds) s: \(grown) kB more private memory, \(slope) kB an hour")
        #expect(viewer.packets - packets > Self.seconds * 15)
        #expect(sizes.count == 1, "data that was mapped: \(sizes) kB")
        // A page or two of 4 kB make any slope in so short a time as the default takes.
        if isLongRun { #expect(slope < 100) } else { #expect(grown <= 16) }
      }
    }

    /// The straight line through the samples that is nearest to them, by least squares.
    private func slope(of samples: [(hours: Double, kB: Double)]) -> Double {
      let count = Double(samples.count)
      let meanHours = samples.reduce(0) { $0 + $1.hours } / count
      let meanKB = samples.reduce(0) { $0 + $1.kB } / count
      let spread = samples.reduce(0) { $0 + ($1.hours - meanHours) * ($1.hours - meanHours) }
      return samples.reduce(0) { $0 + ($1.hours - meanHours) * ($1.kB - meanKB) } / spread
    }
  }
}
