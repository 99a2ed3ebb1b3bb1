import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import HostRelay

/// `--record`, with the real `ffmpeg`: the files, what the status says of them, and how they are had.
@Suite struct RecordingTests {
  /// A relay that records `rec.mp4` of an agent which sends 30 pictures a second.
  private func withRecording(
    fileBytes: Int? = nil, environment: [String: String] = [:],
    beside others: [String: [UInt8]] = [:],
    _ body: (RelayRun, Feeder, TestDirectory) throws -> Void
  ) throws {
    try withTestDirectory { directory in
      for (name, bytes) in others {
        try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
      }
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(
        ["--agent", "\(agent.address)", "--record", directory.file("rec.mp4")], in: directory,
        fileBytes: fileBytes, environment: environment)
      defer { relay.process.end() }
      let feeder = try Feeder(agent, SampleVideo(in: directory))
      try body(relay, feeder, directory)
      feeder.stop()
    }
  }

  @Test("a recording can be played whatever was killed, and none is written over")
  func killed() throws {
    try withRecording { relay, feeder, directory in
      try relay.waitForRecording("recording", seconds: 2, within: .seconds(20))
      // ffmpeg is killed: the next file.
      kill(try #require(relay.children.first), SIGKILL)
      try waitUntil("next file", within: .seconds(20)) {
        try relay.recording["file"] as? String == "rec-2.mp4"
          && relay.recording["state"] as? String == "recording"
      }
      _ = try relay.ctl("pause")
      try relay.waitForRecording("paused")
      let paused = try relay.recording["seconds"] as? Double ?? 0
      try relay.waitForRecording("paused", seconds: paused + 2)
      _ = try relay.ctl("resume")
      try relay.waitForRecording("recording", seconds: paused + 3)
      // The relay is killed: ffmpeg ends with its input.
      let child = try #require(relay.children.first)
      relay.process.signal(SIGKILL)
      try relay.process.waitForEnd()
      try waitUntil("end of ffmpeg", isTrue: { kill(child, 0) != 0 })
      #expect(try Self.gap(in: directory.file("rec.mp4"), in: directory) < 0.3)
      // Through a pause the last picture is repeated each second.
      #expect(try Self.gap(in: directory.file("rec-2.mp4"), in: directory) < 1.6)
    }
  }

  @Test("a file that can grow no more ends the recording, is told, and leaves viewers alone")
  func full() throws {
    try withRecording(fileBytes: 100_000) { relay, feeder, directory in
      try relay.waitForRecording("ended", within: .seconds(30))
      #expect(try relay.recording["detail"] as? String == "File too large")
      #expect(relay.process.errors.contains("rec.mp4: ended: File too large"))
      #expect(try relay.get("/healthz").hasPrefix("live"))
      #expect(try relay.children.isEmpty)
    }
  }

  @Test("without ffmpeg the status says what is missing, and the broadcast goes on")
  func missing() throws {
    try withRecording(environment: ["PATH": "/nowhere"]) { relay, feeder, directory in
      try relay.waitForRecording("waiting", detail: "there is no program ffmpeg")
      #expect(try relay.get("/healthz").hasPrefix("live"))
      #expect(
        relay.process.errors.split(separator: "\n").filter { $0.contains("ffmpeg") }.count == 1)
    }
  }

  @Test("recordings are listed, fetched by ranges and deleted, and what is written now is not")
  func shelf() throws {
    let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    // One more than the highest number there may be ended the relay.
    let beyond = "rec-\(Int.max).mp4"
    try withRecording(beside: ["rec-9.mp4": bytes, "secret.mp4": bytes, beyond: bytes]) {
      relay, feeder, directory in
      symlink(directory.file("secret.mp4"), directory.file("rec-8.mp4"))
      try relay.waitForRecording("recording", within: .seconds(20))
      let list = try relay.get("/api/v1/recordings")
      let live = try #require(relay.recording["file"] as? String)
      #expect(live == "rec-10.mp4")
      #expect(list.contains(#""name":"rec-9.mp4","bytes":600000"#))
      #expect(list.contains(#""live":true"#))
      #expect(!list.contains("secret") && !list.contains("rec-8"))

      let path = directory.file("part")
      let range = try relay.get(
        "/recordings/rec-9.mp4", ["-H", "Range: bytes=300000-", "-o", path])
      #expect(range.hasSuffix("206"))
      #expect(try readFile(path) == Array(bytes[300_000...]))
      // Nothing here tells one state of a file from another, so what `If-Range` means is never it.
      let whole = ["-H", "Range: bytes=300000-", "-H", "If-Range: \"then\"", "-o", path]
      #expect(try relay.get("/recordings/rec-9.mp4", whole).hasSuffix("200"))
      _ = try relay.get("/recordings/rec-9.mp4", ["-o", path])
      #expect(try readFile(path) == bytes)
      #expect(try relay.get("/recordings/rec-9.mp4", ["-I"]).contains("content-length: 600000"))
      for name in ["rec-8.mp4", "secret.mp4", "..%2fsecret.mp4", "%2e%2e/secret.mp4", ""] {
        #expect(
          try relay.get("/recordings/\(name)", ["--path-as-is"]).hasSuffix("404"), "\(name)")
      }
      func delete(_ name: String) throws -> String {
        try relay.get("/api/v1/recordings/delete", ["-d", "{\"name\":\"\(name)\"}"])
      }
      #expect(try delete(live).hasSuffix("409"))
      #expect(try delete("../secret.mp4").hasSuffix("404"))
      #expect(try delete("rec-9.mp4").hasSuffix("200"))
      #expect(access(directory.file("rec-9.mp4"), F_OK) != 0)
      #expect(access(directory.file("secret.mp4"), F_OK) == 0)
    }
  }

  @Test(
    "another user gets a recording by the control key or by a ticket for it, and by no viewer key",
    .enabled(if: getuid() == 0, "another user needs root"))
  func strangers() throws {
    try withTestDirectory { directory in
      let key = "control-key-of-the-test"
      let relay = try RelayRun(
        ["--record", directory.file("rec.mp4"), "--control-key", key], in: directory)
      defer { relay.process.end() }
      try Data([1, 2, 3]).write(to: URL(fileURLWithPath: directory.file("rec.mp4")))
      func status(_ path: String, _ options: [String] = []) throws -> String {
        let words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]
        return try ProcessRun.run(
          "setpriv",
          ["--reuid=65534", "--clear-groups"] + words + ["http://\(relay.http)\(path)"] + options,
          in: directory
        ).output
      }
      let file = "/recordings/rec.mp4"
      #expect(try status("\(file)?key=\(relay.viewerKey)") == "403")
      #expect(try status("/api/v1/recordings?key=\(relay.viewerKey)") == "403")
      #expect(try status(file, ["-H", "Authorization: Bearer \(key)"]) == "200")
      let answer = try relay.get("/api/v1/recordings/ticket", ["-d", #"{"name":"rec.mp4"}"#])
      let ticket = try #require(answer.split(separator: "\"").dropFirst(3).first)
      #expect(try status("\(file)?ticket=\(ticket)") == "200")
      let ahead = #"{"name":"rec-2.mp4"}"#
      #expect(
        try status(
          "/api/v1/recordings/ticket", ["-d", ahead, "-H", "Authorization: Bearer \(key)"]) == "404"
      )
      #expect(try status("/recordings/rec-2.mp4?ticket=\(ticket)") == "403")
      #expect(try status("/api/v1/recordings?ticket=\(ticket)") == "403")
      // A file that gets the name of a deleted one is another.
      _ = try relay.get("/api/v1/recordings/delete", ["-d", #"{"name":"rec.mp4"}"#])
      try Data([4, 5, 6]).write(to: URL(fileURLWithPath: directory.file("rec.mp4")))
      #expect(try status("\(file)?ticket=\(ticket)") == "403")
    }
  }

  /// Plays a file, and returns the longest time between two of its pictures, in seconds.
  private static func gap(in path: String, in directory: TestDirectory) throws -> Double {
    #expect(try SampleVideo.pictures(of: path, in: directory).count > 30)
    let probe = try ProcessRun.run(
      "ffprobe",
      ["-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path], in: directory)
    let times = probe.output.split(whereSeparator: { $0.isNewline || $0 == "," }).compactMap {
      Double($0)
    }
    return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .infinity
  }
}

/// Sends a sample again and again, as fast as an agent would, on a thread of its own.
private final class Feeder: Sendable {
  private let isOver = DispatchSemaphore(value: 0)
  private let done = DispatchSemaphore(value: 0)

  init(_ agent: ScriptedAgent, _ video: SampleVideo) throws {
    nonisolated(unsafe) let link = try agent.begin()
    let units = video.accessUnits
    Thread.detachNewThread { [isOver, done] in
      var index = 0
      while isOver.wait(timeout: .now() + .milliseconds(33)) == .timedOut {
        let unit = units[index % units.count]
        link.discardInput()
        do {
          try link.sendPacket(unit.bytes, pts: MonotonicClock.now(), isKeyframe: unit.isKeyframe)
        } catch { break }
        index += 1
      }
      done.signal()
    }
  }

  func stop() {
    isOver.signal()
    done.wait()
  }
}

extension RelayRun {
  /// `recording` of the status.
  fileprivate var recording: [String: Any] {
    get throws {
      let body = try get("/api/v1/status").split(separator: "\n").first ?? ""
      let json = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
      return json?["recording"] as? [String: Any] ?? [:]
    }
  }

  /// The relay's own children.
  fileprivate var children: [pid_t] {
    get throws {
      let path = "/proc/\(process.pid)/task/\(process.pid)/children"
      return String(decoding: try readFile(path), as: UTF8.self).split(separator: " ")
        .compactMap { pid_t($0) }
    }
  }

  fileprivate func waitForRecording(
    _ state: String, seconds: Double = 0, detail: String = "", within limit: Duration = .seconds(10)
  ) throws {
    try waitUntil("recording that is \(state) at \(seconds) s", within: limit) {
      let recording = try recording
      return recording["state"] as? String == state
        && (recording["seconds"] as? Double ?? 0) >= seconds
        && (recording["detail"] as? String ?? "").hasPrefix(detail)
    }
  }
}
