import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Memory {
    @Test func `the agent stays under its limits, which it cannot raise, while a window moves`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let player = try Player(broadcast.liveTS, in: directory)
        let first = try player.waitForCounter(past: 0, within: .seconds(5))
        let pictures = isLongRun ? 1800 : 450
        try player.waitForCounter(past: first + pictures, within: .seconds(pictures / 20))

        let limits = try lines(of: "/proc/\(agent)/limits")
        for name in ["Max address space", "Max data size"] {
          let line = try #require(limits.first { $0.hasPrefix(name) })
          #expect(words(line.dropFirst(name.count)).prefix(2) == ["52428800", "52428800"])
        }
        let figures = try lines(of: "/proc/\(agent)/status")
        func figure(_ name: String) throws -> Int {
          let line = try #require(figures.first { $0.hasPrefix(name + ":") })
          return try #require(Int(words(line)[1]))
        }
        print("VmPeak \(try figure("VmPeak")) kB, VmData \(try figure("VmData")) kB")
        #expect(try figure("VmPeak") < 51_200)
        #expect(try figure("Threads") <= 4)
        let status = try #require(broadcast.status)
        #expect(status.agentFigure("vm_peak_kb") == (try figure("VmPeak")))
      }
    }

    @Test(arguments: ["capture-agent", "host-relay"])
    func `no Foundation is linked`(name: String) throws {
      try withTestDirectory { directory in
        let symbols = try ProcessRun.run("nm", ["--demangle", program(name)], in: directory).output
        #expect(symbols.contains("main"), "the symbols are there to be looked at")
        #expect(!symbols.contains("Foundation"))
      }
    }
  }
}

func lines(of path: String) throws -> [String] {
  String(decoding: try readFile(path), as: UTF8.self).split(separator: "\n").map(String.init)
}

func words(_ text: some StringProtocol) -> [String] {
  String(text).split { $0.isWhitespace }.map { String($0) }
}
