import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// `--push`, to servers that people use.
  @Suite struct Pushes {
    private static let key = "Ke9-of-the-publish"
    private static let passphrase = "passphrase-of-the-push"

    @Test
    func `one publish outlives an agent, reaches two edges, and its key is nowhere to be read`()
      throws
    {
      try withTestDirectory { directory in
        let servers = try ScaleOut(in: directory)
        let (first, second) = (try servers.edge(), try servers.edge())
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "640x360"],
          relay: ["--push", "rtmp://127.0.0.1:\(servers.originRTMP)/live/\(Self.key)"])
        try broadcast.waitUntilLive()
        try broadcast.waitForPush(state: "live")
        let readers = try [first, second].enumerated().map { index, edge in
          try GapReader(
            "rtmp://127.0.0.1:\(edge.rtmp)/live/\(Self.key)", seconds: 6, name: "reader\(index)",
            in: directory)
        }
        for reader in readers { try reader.waitUntilReading() }
        // The publisher, and the edges: each asks once, however many watch there.
        #expect(servers.statistics.components(separatedBy: "<client>").count == 4)
        let agent = try #require(broadcast.agentPID)
        kill(agent, SIGKILL)
        try waitUntil("another agent", isTrue: { broadcast.agentPID.map { $0 != agent } ?? false })
        for reader in readers {
          let gaps = try reader.gaps()
          print("\(reader.run.name): \(gaps)")
          #expect(gaps.wall < 3 && gaps.media < 3)
          #expect(reader.run.errors.isEmpty, "\(reader.run.errors)")
        }
        let push = try #require(broadcast.push())
        #expect(push["restarts"] as? Int == 0)
        #expect(push["name"] as? String == "rtmp://127.0.0.1:\(servers.originRTMP)/live/…")
        // By HLS, past the edge's cache too.
        for edge in [first, second] {
          let list = "http://127.0.0.1:\(edge.http)/hls/\(Self.key).m3u8"
          try waitUntil("segments") {
            let run = try ProcessRun.run("curl", ["-sf", list], name: "hls", in: directory)
            return run.output.contains(".ts")
          }
          let probe = try ProcessRun.run(
            "ffprobe", ["-v", "error", "-show_entries", "stream=width", "-of", "csv=p=0", list],
            name: "hls", in: directory)
          #expect(probe.output.contains("640"))
        }

        // Where others look: argument lists, logs, the status, the metrics.
        let children = try broadcast.children
        #expect(!children.isEmpty)
        for pid in children + [broadcast.relay.pid] {
          #expect(try !Self.text("/proc/\(pid)/cmdline").contains(Self.key))
        }
        #expect(!broadcast.relay.errors.contains(Self.key))
        for path in ["/api/v1/status", "/metrics"] {
          let text = try ProcessRun.run("curl", ["-s", broadcast.page + path], in: directory).output
          #expect(text.contains("rtmp://127.0.0.1") && !text.contains(Self.key))
        }
      }
    }

    @Test func `a push that hangs costs nobody a picture, is tried again, and dies with the relay`()
      throws
    {
      try withTestDirectory { directory in
        // A server that accepts in its kernel and never says a word.
        let deaf = try DeafServer()
        let srt = freePort()
        let listener = try GapReader(
          "srt://127.0.0.1:\(srt)?mode=listener&passphrase=\(Self.passphrase)", seconds: 7,
          name: "listener", in: directory)
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "640x360"],
          relay: [
            "--push", "rtmp://127.0.0.1:\(deaf.port)/live/key",
            "--push", "srt://127.0.0.1:\(srt)?passphrase=\(Self.passphrase)",
          ])
        try broadcast.waitUntilLive()
        let viewer = try GapReader(broadcast.liveTS, seconds: 7, name: "viewer", in: directory)
        try broadcast.waitForPush(1, state: "live")
        try broadcast.waitForPush(0, state: "waiting", within: .seconds(25))
        for reader in [listener, viewer] {
          let gaps = try reader.gaps()
          print("\(reader.run.name): \(gaps)")
          #expect(gaps.wall < 1 && gaps.media < 0.5)
        }
        try waitUntil("another try", within: .seconds(15)) {
          (broadcast.push(0)?["restarts"] as? Int ?? 0) >= 1
        }
        let children = try broadcast.children
        for pid in children {
          #expect(try !Self.text("/proc/\(pid)/cmdline").contains(Self.passphrase))
        }
        broadcast.relay.signal(SIGKILL)
        try broadcast.relay.waitForEnd()
        // One that hangs gives up by itself.
        try waitUntil("end of each child", within: .seconds(15)) {
          children.allSatisfy { pid in
            let text = (try? Self.text("/proc/\(pid)/cmdline")) ?? ""
            return !text.contains("ffmpeg")
          }
        }
      }
    }

    @Test func `a browser is shown the screen by Janus, and a folder gets its segments`() throws {
      try withTestDirectory { directory in
        let rtp = freePort()
        let (janus, socket) = try ScaleOut.janus(rtp: rtp, in: directory)
        defer { janus.end() }
        let list = directory.file("live.m3u8")
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "640x360", "--profile", "constrained-baseline"],
          relay: ["--push", "rtp://127.0.0.1:\(rtp)?pkt_size=1200", "--push", "hls:\(list)"])
        try broadcast.waitUntilLive()
        try broadcast.waitForPush(0, state: "live")
        let viewer = packageRoot + "/packaging/scale-out/janus/viewer.html"
        let page = try Browser("file://\(viewer)#ws://127.0.0.1:\(socket)")
        try page.wait(until: "globalThis.video?.videoWidth === 640 && video.currentTime > 1")
        #expect(try page.evaluate("peer.connectionState") as? String == "connected")
        try waitUntil("segments") {
          ((try? Self.text(list)) ?? "").components(separatedBy: ".ts").count > 2
        }
        let probe = try ProcessRun.run(
          "ffprobe", ["-v", "error", "-show_entries", "stream=width", "-of", "csv=p=0", list],
          in: directory)
        #expect(probe.output.contains("640"))
        #expect(probe.errors.isEmpty)
      }
    }

    private static func text(_ path: String) throws -> String {
      String(decoding: try readFile(path), as: UTF8.self)
    }
  }
}

/// A port whose connections the kernel takes, and nobody else.
final class DeafServer {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    port = freePort()
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0, listen(descriptor, 8) == 0 else {
      throw ProcessFailure(description: "no deaf server")
    }
  }

  deinit { close(descriptor) }
}

extension Broadcast {
  /// A push as the status has it, by its place on the command line.
  func push(_ index: Int = 0) -> [String: Any]? {
    let pushes = status?.json["pushes"] as? [[String: Any]] ?? []
    return index < pushes.count ? pushes[index] : nil
  }

  func waitForPush(_ index: Int = 0, state: String, within limit: Duration = .seconds(15)) throws {
    try waitUntil("push that is \(state)", within: limit) {
      push(index)?["state"] as? String == state
    }
  }

  /// The relay's children that run ffmpeg.
  var children: [pid_t] {
    get throws {
      let path = "/proc/\(relay.pid)/task/\(relay.pid)/children"
      let pids = String(decoding: try readFile(path), as: UTF8.self).split(separator: " ")
      return try pids.compactMap { pid_t($0) }.filter { pid in
        String(decoding: try readFile("/proc/\(pid)/cmdline"), as: UTF8.self).hasPrefix("ffmpeg")
      }
    }
  }
}
