import Glibc
import TestSupport
import Testing

extension Stress {
  @Suite struct Leaks {
    @Test
    func `a leak of 1 MiB a frame takes the steps in order, ends with 86, and is back on the air`()
      throws
    {
      try withTestDirectory { directory in
        let pair = try Pair(
          in: directory, faults: ["PORTHOLE_LEAK": "1048576"], asChild: true,
          agent: ["--memory-tier", "data"])
        try waitUntil("death", within: .seconds(20), isTrue: { !pair.lastDeath.isEmpty })
        #expect(pair.lastDeath.contains("memory limit (exit 86)"))
        let steps = pair.relay.errors.split(separator: "\n").compactMap { line in
          line.split(separator: ": ").drop { $0 != "agent's memory" }.dropFirst().first
        }
        #expect(steps.prefix(4) == ["queues", "rate", "picture", "end"])
        try waitUntil("live broadcast", within: .seconds(3), isTrue: { pair.state == "live" })
      }
    }

    @Test func `a leak that ends is lived with: the steps it took stay, and no more are taken`()
      throws
    {
      try withTestDirectory { directory in
        let pair = try Pair(
          in: directory, faults: ["PORTHOLE_LEAK": "1048576/36"], asChild: true,
          agent: ["--memory-tier", "data"])
        let memory = try waitUntil("step", within: .seconds(20)) {
          (pair.status?["memory"] as? [String: Any]).flatMap {
            $0["step"] as? String == "rate" ? $0 : nil
          }
        }
        #expect(memory["changes"] as? Int == 2)
        let viewer = try Viewer(port: pair.consumers)
        try waitUntil(
          "pictures all the same",
          isTrue: {
            try viewer.read()
            return viewer.packets > 30
          })
        #expect(viewer.brokenPackets == 0)
        #expect(pair.lastDeath.isEmpty)
      }
    }
  }
}
