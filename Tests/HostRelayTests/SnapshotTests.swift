import Foundation
import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// `/snapshot.png` and `/snapshot.jpg`.
@Suite struct SnapshotTests {
  /// Sends pictures 10 ms apart by their PTS, however long that takes: those that lie apart by more
  /// than two seconds are no longer kept.
  private func send(
    _ units: some Sequence<(isKeyframe: Bool, bytes: [UInt8])>, from begin: Int64,
    on link: ScriptedPeer
  ) throws {
    for (number, unit) in units.enumerated() {
      try link.sendPacket(
        unit.bytes, pts: begin + Int64(number) * 10_000_000, isKeyframe: unit.isKeyframe)
    }
  }

  /// MD5 of the pixels of picture `number` of a file.
  private func pixels(
    of file: String, number: Int = 0, in directory: TestDirectory
  ) throws -> String {
    let run = try ProcessRun.run(
      "ffmpeg",
      ["-v", "error", "-i", file, "-vf", "select=eq(n\\,\(number)),format=rgb24", "-frames:v", "1"]
        + ["-f", "md5", "-"], name: "pixels", in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
    return run.output
  }

  @Test("a snapshot is the last picture, and the same one until another comes")
  func lastPicture() throws {
    try withRelay { relay, agent, directory in
      let video = try SampleVideo(in: directory)
      let none = try relay.get("/snapshot.png")
      #expect(none == "there is no picture yet\n\n503")
      let link = try agent.begin()
      let begin = MonotonicClock.now()
      // The second lot begins with a keyframe: however late it comes, it stands alone.
      for (start, count) in [(0, 40), (40, 60)] {
        let units = video.accessUnits[start..<count]
        try send(units, from: begin + Int64(start) * 10_000_000, on: link)
        try waitUntil("all pictures") {
          try relay.get("/api/v1/status").contains("\"packets\":\(count)")
        }
        let file = directory.file("shot.png")
        for _ in 0..<2 {
          #expect(try relay.get("/snapshot.png", ["-o", file]).hasSuffix("200"))
          #expect(
            try pixels(of: file, in: directory)
              == pixels(of: directory.file("sample.h264"), number: count - 1, in: directory))
        }
      }
      let head = try relay.get("/snapshot.jpg", ["-I"])
      #expect(head.contains("content-type: image/jpeg\r\n"))
      let photo = directory.file("shot.jpg")
      #expect(try relay.get("/snapshot.jpg", ["-o", photo]).hasSuffix("200"))
      #expect(try readFile(photo).starts(with: [0xff, 0xd8]))
    }
  }

  @Test("who asks while a snapshot is made shares it: one ffmpeg for forty")
  func shared() throws {
    try withTestDirectory { tools in
      let counted = tools.file("count")
      try script("echo x >>\(counted)\nsleep 0.5\nexec /usr/bin/ffmpeg \"$@\"", in: tools)
      try withRelay(environment: path(to: tools)) { relay, agent, directory in
        let link = try agent.begin()
        try send(SampleVideo(in: directory).accessUnits, from: MonotonicClock.now(), on: link)
        try waitUntil("all pictures") {
          try relay.get("/api/v1/status").contains("\"packets\":60")
        }
        let many = try ProcessRun.run(
          "curl",
          ["-s", "--parallel", "--parallel-immediate", "--parallel-max", "40"]
            + ["http://\(relay.http)/snapshot.png?[1-40]", "-o", directory.file("shot-#1.png")],
          in: directory)
        #expect(many.exitCode == 0, "\(many.errors)")
        let shots = try (1...40).map { try readFile(directory.file("shot-\($0).png")) }
        let kinds = Set(shots.map { String(decoding: $0.prefix(60), as: UTF8.self) })
        #expect(shots[0].starts(with: [0x89, 0x50]) && Set(shots).count == 1, "\(kinds)")
        #expect(try readFile(counted).count == 2)
      }
    }
  }

  @Test("an ffmpeg that hangs is killed, and holds up nobody but who asked")
  func hung() throws {
    try withTestDirectory { tools in
      try script("exec sleep 60", in: tools)
      try withRelay(environment: path(to: tools)) { relay, agent, directory in
        let link = try agent.begin()
        try send(SampleVideo(in: directory).accessUnits.prefix(1), from: 0, on: link)
        try waitUntil("a picture") { try relay.get("/api/v1/status").contains("\"packets\":1,") }
        let asked = try ProcessRun(
          "curl", ["-s", "http://\(relay.http)/snapshot.png"], name: "asked", in: directory)
        #expect(try relay.get("/api/v1/status", ["--max-time", "1"]).hasSuffix("200"))
        #expect(try asked.waitForEnd(within: .seconds(20)) == 0)
        #expect(asked.output == "the last picture could not be decoded\n")
      }
    }
  }

  @Test("without ffmpeg a snapshot says what is missing")
  func missing() throws {
    try withTestDirectory { tools in
      try withRelay(environment: ["PATH": tools.path]) { relay, agent, directory in
        let link = try agent.begin()
        try send(SampleVideo(in: directory).accessUnits.prefix(1), from: 0, on: link)
        try waitUntil("a picture") { try relay.get("/api/v1/status").contains("\"packets\":1,") }
        let answer = try relay.get("/snapshot.png")
        #expect(answer.hasPrefix("ffmpeg makes the picture, and does not start"), "\(answer)")
        #expect(answer.hasSuffix("503"))
      }
    }
  }

  /// An `ffmpeg` of the test's own.
  private func script(_ text: String, in tools: TestDirectory) throws {
    let file = tools.file("ffmpeg")
    try "#!/bin/sh\n\(text)\n".write(toFile: file, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file)
  }

  private func path(to tools: TestDirectory) -> [String: String] {
    ["PATH": "\(tools.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"]
  }
}
