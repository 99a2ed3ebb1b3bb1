import Glibc
import TestSupport
import Testing
import Wire

extension Stress {
  /// Memory that is refused at any point of a start and of a broadcast.
  @Suite struct Injections {
    private static let pointCount = isLongRun ? 2000 : 60
    private static let atOnce = 4
    /// By then an agent has sent its pictures for seconds.
    private static let lastAllocation = 20_000.0

    /// Evenly spread over the magnitudes, each refused once or for good.
    private static let points: [String] = {
      var random = SplitMix(seed: 86)
      return (0..<pointCount).map { index in
        let part = Double(random.below(1 << 20)) / Double(1 << 20)
        let nth = Int(exp(part * log(lastAllocation)))
        return "\(max(1, nth))\(index % 2 == 0 ? "" : "+")"
      }
    }()

    @Test
    func `an allocation that fails ends the agent with 86, or is survived, and nothing hangs`()
      throws
    {
      var deaths = 0
      for first in stride(from: 0, to: Self.points.count, by: Self.atOnce) {
        let points = Self.points[first..<min(first + Self.atOnce, Self.points.count)]
        try withTestDirectories(points.count) { directories in
          let pairs = try zip(points, directories).map { point, directory in
            try (
              point,
              Pair(
                in: directory, faults: ["PORTHOLE_FAIL_ALLOCATION": point], asChild: true)
            )
          }
          for (point, pair) in pairs { if try isFatal(point, pair) { deaths += 1 } }
        }
      }
      print("\(Self.points.count) points, of them \(deaths) ends with 86")
      #expect(deaths > Self.points.count / 4)
    }

    /// Waits for the agent's end or its thirtieth picture; true for an end.
    private func isFatal(_ point: String, _ pair: Pair) throws -> Bool {
      var viewer: Viewer?
      let isFatal = try waitUntil("an end or pictures at \(point)", within: .seconds(20)) {
        if viewer == nil { viewer = try? Viewer(port: pair.consumers) }
        try viewer?.read()
        if let viewer, viewer.packets >= 30 { return false }
        return pair.lastDeath.isEmpty ? nil : true
      }
      if isFatal { #expect(pair.lastDeath.contains("memory limit (exit 86)"), "\(point)") }
      #expect(viewer?.brokenPackets ?? 0 == 0, "\(point)")
      #expect(viewer?.isConnected ?? true, "\(point)")
      return isFatal
    }
  }
}

/// Several of `withTestDirectory`.
private func withTestDirectories(
  _ count: Int, _ found: [TestDirectory] = [], _ body: ([TestDirectory]) throws -> Void
) throws {
  guard found.count < count else { return try body(found) }
  try withTestDirectory { try withTestDirectories(count, found + [$0], body) }
}
