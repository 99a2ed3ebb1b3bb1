import Glibc
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Memory {
    @Test
    func `1080p from the portal fits 50 MiB of addresses, with no step taken and nothing growing`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let player = try Player(broadcast.liveTS, in: directory)
        let first = try player.waitForCounter(past: 0, within: .seconds(5))
        let settled = try player.waitForCounter(past: first + 60, within: .seconds(5))
        let before = try #require(broadcast.status)
        let pictures = isLongRun ? 1800 : 390
        try player.waitForCounter(past: settled + pictures, within: .seconds(pictures / 20))

        let limits = try lines(of: "/proc/\(agent)/limits")
        for name in ["Max address space", "Max data size"] {
          let line = try #require(limits.first { $0.hasPrefix(name) })
          #expect(words(line.dropFirst(name.count)).prefix(2) == ["52428800", "52428800"])
        }
        // What takes megabytes and is not needed: another runtime of Swift, all of C++, another D-Bus.
        let maps = try lines(of: "/proc/\(agent)/maps")
        for name in ["libporthole_drv_video", "libstdc++", "libdbus"] {
          #expect(!maps.contains { $0.contains(name) }, "\(name)")
        }
        let figures = try ProcessFootprint(of: agent)
        print("1080p: \(figures)")
        #expect(figures.peakSizeKB < 45_056)
        #expect(figures.dataKB < 8_192)
        #expect(figures.residentPeakKB < 40_960)
        #expect(figures.threads <= 4)
        let after = try #require(broadcast.status)
        #expect(after.agentFigure("vm_peak_kb") == figures.peakSizeKB)
        #expect(after.agentFigure("frames_encoded") > before.agentFigure("frames_encoded") + 300)
        for figure in ["encoder_allocations", "loop_allocations"] {
          #expect(after.agentFigure(figure) == before.agentFigure(figure), "\(figure)")
        }
        // At either reading a stripe of 64 rows may be mapped, or none.
        let stripe = 1920 * 4 * 64 / 1024
        #expect(after.agentFigure("vm_size_kb") <= before.agentFigure("vm_size_kb") + stripe)
        #expect(after.agentFigure("frames_held_kb") >= 1920 * 1080 * 4 / 1024)
        #expect(after.agentFigure("memfd_kb") >= 3 * 1920 * 1080 / 1024)
        #expect(after.agentFigure("memory_step") == 0)
      }
    }

    @Test(arguments: ["address", "data"])
    func `4K from the portal fits either tier, at 10 frames a second and more`(tier: String) throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (3840, 2160))
        try desktop.show("window=counter")
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--memory-tier", tier])
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let before = try #require(broadcast.status)
        let began = ContinuousClock.now
        let after = try waitUntil("a hundred pictures more", within: .seconds(10)) {
          broadcast.status.flatMap { status in
            let made = status.agentFigure("frames_encoded") - before.agentFigure("frames_encoded")
            return made >= 100 ? status : nil
          }
        }
        let rate = 100 / (ContinuousClock.now - began).seconds
        let figures = try ProcessFootprint(of: agent)
        print("4K, \(tier): \(figures), \(rate) pictures a second")
        #expect(rate >= 10)
        #expect(figures.dataKB < 51_200 - 20 * 1024)
        #expect(tier == "data" || figures.peakSizeKB < 50_000)
        #expect(after.agentFigure("memory_step") == 0)
      }
    }

    @Test(arguments: [["--memory-limit", "20MiB"], ["--size", "7680x4320"]])
    func `a plan that cannot fit is refused with 86 and its sum`(words: [String]) throws {
      try withTestDirectory { directory in
        let run = try ProcessRun.run(
          program("capture-agent"),
          ["--source", "pattern", "--va-display", "none", "--listen", "127.0.0.1:0"] + words,
          environment: ["XDG_RUNTIME_DIR": directory.path], in: directory)
        #expect(run.exitCode == 86)
        #expect(run.errors.contains("coded buffer") && run.errors.contains("= "), "\(run.errors)")
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

extension Duration {
  fileprivate var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}

func lines(of path: String) throws -> [String] {
  String(decoding: try readFile(path), as: UTF8.self).split(separator: "\n").map(String.init)
}

func words(_ text: some StringProtocol) -> [String] {
  String(text).split { $0.isWhitespace }.map { String($0) }
}
