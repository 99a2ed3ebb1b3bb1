import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// Every output at one time, each with a program that people use.
  @Suite struct AllAtOnce {
    private static let seconds = isLongRun ? 300 : 20
    /// Seconds without a picture that count as one.
    private static let gap = 0.5

    @Test
    func `page, mpv, VLC, two edges, SRT and a recording at once, each without a gap`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        for thing in ["window=counter", "speakers", "microphone"] { try desktop.show(thing) }
        let servers = try ScaleOut(in: directory)
        let edges = [try servers.edge(), try servers.edge()]
        let srt = freePort()
        let file = directory.file("talk.mp4")
        let listener = try GapReader(
          "srt://127.0.0.1:\(srt)?mode=listener", seconds: Self.seconds + 8, name: "SRT",
          in: directory)
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--audio", "both"],
          relay: [
            "--mix", "100,50",
            "--push", "rtmp://127.0.0.1:\(servers.originRTMP)/live/screen",
            "--push", "srt://127.0.0.1:\(srt)", "--record", file, "--viewer-key", "watch-all-of-it",
          ])
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        for index in 0...1 { try broadcast.waitForPush(index, state: "live") }

        let players = Players(broadcast, key: "watch-all-of-it", directory)
        let mpv = try players.mpv()
        var readers = try edges.enumerated().map { index, edge in
          try GapReader(
            "rtmp://127.0.0.1:\(edge.rtmp)/live/screen", seconds: Self.seconds,
            name: "edge viewer \(index + 1)", in: directory)
        }
        readers.append(try players.vlc(seconds: Self.seconds))
        for reader in readers { try reader.waitUntilReading() }
        // Last, for what is started later would hold its input open.
        let page = try Browser(broadcast.page)
        try page.wait(until: "document.getElementById('canvas')?.width === 1280")
        try page.evaluate(Self.watchPage)
        try mpv.waitForPictures()

        let parts = [
          ("agent", agent), ("relay with its ffmpegs", broadcast.relay.pid), ("page", page.pid),
          ("mpv", mpv.run.pid), ("VLC", readers[2].run.pid), ("origin", servers.origin.pid),
          ("edge 1", edges[0].run.pid), ("edge 2", edges[1].run.pid), ("SRT", listener.run.pid),
        ]
        let mixed = directory.file("mixed.flv")
        let ears = try ProcessRun.run(
          "ffmpeg",
          [
            "-nostdin", "-v", "error", "-t", "3", "-i",
            "rtmp://127.0.0.1:\(edges[0].rtmp)/live/screen", "-vn", "-c", "copy", mixed,
          ], name: "ears", in: directory)
        #expect(ears.exitCode == 0, "\(ears.errors)")
        for (pitch, level) in [(440, -9.03), (660, -15.05)] {
          let heard = try Self.level(of: pitch, in: mixed, directory)
          print("\(pitch) Hz at \(heard) dB")
          #expect(abs(heard - level) < 2)
        }
        // A sound that stays away keeps nobody waiting.
        try broadcast.control("sound", "mic", "off")

        let before = try parts.map { try ProcessTree(of: $0.1).cpuSeconds }
        let begin = ContinuousClock.now
        // While all of them still run.
        try waitUntil("half of the time", within: .seconds(Self.seconds)) {
          ContinuousClock.now - begin > .seconds(Self.seconds) / 2
        }
        let after = try parts.map { try ProcessTree(of: $0.1).cpuSeconds }
        let passed = begin.duration(to: .now) / .seconds(1)
        for (part, used) in zip(parts, zip(before, after)) {
          print("\(part.0): \(Int((used.1 - used.0) / passed * 100)) % of a core")
        }
        for reader in readers.dropLast() + [listener] { try show(reader) }
        // What VLC gives on comes in lumps, of its own making.
        try show(readers[2], wall: 2)
        let shown = try #require(page.evaluate("window.longest") as? Double)
        print("page: \(shown) ms, mpv: \(mpv.gap ?? -1) s")
        #expect(shown < Self.gap * 1000)
        #expect(try #require(mpv.gap) < Self.gap)

        let status = try #require(broadcast.status)
        #expect(status.agentFigure("memory_step") == 0)
        #expect(try ProcessFootprint(of: agent).peakSizeKB < 51_200)
        for index in 0...1 {
          #expect(broadcast.push(index)?["restarts"] as? Int == 0)
        }
        #expect((status.json["recording"] as? [String: Any])?["state"] as? String == "recording")
        broadcast.end()
        let recorded = try GapReader.media(of: file, in: directory)
        print("recording: \(recorded)")
        let tone = try Tone(of: file, track: 0, in: directory)
        #expect(abs(tone.decibels + 9.03) < 2, "\(tone)")
        #expect(recorded.media < Self.gap && recorded.pictures > 10 * Self.seconds)
      }
    }

    private func show(_ reader: GapReader, wall: Double = gap) throws {
      let gaps = try reader.gaps()
      print("\(reader.run.name): \(gaps)")
      #expect(gaps.wall < wall && gaps.media < Self.gap, "\(reader.run.name)")
      #expect(gaps.pictures > 10 * Self.seconds, "\(reader.run.name)")
    }

    /// How loud a tone is in a file, in decibels of its root of the mean square.
    private static func level(
      of pitch: Int, in file: String, _ directory: TestDirectory
    ) throws -> Double {
      let run = try ProcessRun.run(
        "ffmpeg",
        [
          "-nostdin", "-v", "info", "-ss", "0.5", "-i", file, "-af",
          "bandpass=f=\(pitch):width_type=h:w=20,volumedetect", "-f", "null", "-",
        ], name: "level", in: directory)
      let text = run.errors.components(separatedBy: "mean_volume: ").last ?? ""
      guard let level = Double(text.prefix { $0 != " " }) else {
        throw ProcessFailure(description: run.errors)
      }
      return level
    }

    /// The longest time between two of the page's pictures, in milliseconds, from now on.
    private static let watchPage = """
      (() => {
        const draw = CanvasRenderingContext2D.prototype.drawImage;
        let last = performance.now();
        window.longest = 0;
        CanvasRenderingContext2D.prototype.drawImage = function (...words) {
          const now = performance.now();
          window.longest = Math.max(window.longest, now - last);
          last = now;
          return draw.apply(this, words);
        };
      })()
      """
  }
}

/// Players at `/live.ts`.
private struct Players {
  let broadcast: Broadcast
  let key: String
  let directory: TestDirectory

  init(_ broadcast: Broadcast, key: String, _ directory: TestDirectory) {
    self.broadcast = broadcast
    self.key = key
    self.directory = directory
  }

  /// mpv, which says with each picture how long it had none.
  struct MPV {
    let run: ProcessRun

    var gap: Double? {
      run.output.components(separatedBy: "wall=").last.flatMap { text in
        Double(text.prefix { $0.isNumber || $0 == "." })
      }
    }

    func waitForPictures() throws {
      try waitUntil("pictures in mpv", within: .seconds(20)) { run.output.contains("pictures=30 ") }
    }
  }

  func mpv() throws -> MPV {
    MPV(
      run: try ProcessRun(
        "mpv",
        [
          "--no-config", "--vo=null", "--ao=null", "--profile=low-latency", "--term-status-msg=",
          "--script=\(packageRoot)/scripts/outputs/gaps.lua", broadcast.liveTS,
        ], in: directory))
  }

  /// VLC decodes what it plays, and gives on what its demuxer found. It does not run as root.
  func vlc(seconds: Int) throws -> GapReader {
    let user = getuid() == 0 ? ["runuser", "-u", "nobody", "--"] : []
    let words = [
      "env", "HOME=/nonexistent", "cvlc", "--quiet", "--intf", "dummy", "--vout", "dummy",
      "--no-audio", "--sout", "#duplicate{dst=display,dst=std{access=file,mux=ts,dst=-}}",
      "\(broadcast.liveTS)?key=\(key)",
    ]
    return try GapReader("-", user + words, seconds: seconds, name: "VLC", in: directory)
  }
}

/// A process and all that it started.
struct ProcessTree {
  let cpuSeconds: Double

  init(of pid: pid_t) throws {
    var waiting = [pid]
    var sum = 0.0
    while let next = waiting.popLast() {
      guard let footprint = try? ProcessFootprint(of: next) else { continue }
      sum += footprint.cpuSeconds
      let children = (try? readFile("/proc/\(next)/task/\(next)/children")) ?? []
      waiting += String(decoding: children, as: UTF8.self).split(separator: " ")
        .compactMap { pid_t($0) }
    }
    cpuSeconds = sum
  }
}
