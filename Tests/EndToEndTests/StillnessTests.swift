import Foundation
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// A screen on which nothing changes, for long (BL-01, BL-02).
  @Suite struct Stillness {
    /// How long nothing changes before each of the changes, in seconds.
    private static let spells = isLongRun ? [3600, 300] : [4]

    @Test
    func
      `BL-01, BL-02: stillness costs next to nothing, who joins sees it at once, and a change too`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=still+poked")
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        let program = try PacketLog(broadcast.consumers)
        let player = try SquareWatch(broadcast.liveTS, in: directory)
        let file = try ByteCount(of: broadcast.liveTS, in: directory)
        let agent = try #require(broadcast.agentPID)
        for (spell, seconds) in Self.spells.enumerated() {
          try broadcast.waitForRest(program)
          let begin = try Spent(agent, broadcast.relay.pid, program, file)
          Thread.sleep(forTimeInterval: Double(seconds))
          let spent = try Spent(agent, broadcast.relay.pid, program, file) - begin
          print("\(seconds) s of stillness: \(spent)")
          // Of a processor; a hundredth of a second is the least that the kernel counts.
          #expect(spent.agent < max(0.01, 0.12 / Double(seconds)))
          #expect(spent.relay < max(0.01, 0.12 / Double(seconds)))
          #expect(spent.programBytes < 1000)
          // A picture a second and its repetition, each with the tables and the padding of MPEG-TS.
          #expect(spent.playerBytes < 4000)

          let joined = MonotonicClock.now()
          let keyframe = try ScriptedPeer.consumer(of: broadcast.consumers).receive("keyframe") {
            $0.header.kind == .packet && $0.header.flags.contains(.keyframe) ? $0.payload : nil
          }
          let joining = (MonotonicClock.now() - joined) / 1_000_000
          print("who joins has a keyframe of \(keyframe.count) bytes after \(joining) ms")
          #expect(joining < 300)
          try keyframe.save(to: directory.file("keyframe.h264"))
          let seen = try StillPicture(
            of: directory.file("keyframe.h264"), name: "keyframe\(spell)", in: directory)
          #expect((seen.square.green < 60) == (spell == 0), "\(seen.square)")

          let told = program.packets.count
          kill(try desktop.pid(of: "window"), SIGUSR1)
          let flip = try waitUntil("the change") {
            let flips = try desktop.flips()
            return flips.count == spell + 1 ? Int64(flips[spell] * 1e9) : nil
          }
          let packet = try waitUntil("its packet") {
            program.packets.dropFirst(told).first { $0.arrival > flip && $0.byteCount > 400 }
          }
          let shown = try player.waitForTurn(after: flip, isWhite: spell == 0)
          print(
            "the change is at a program after \((packet.arrival - flip) / 1_000_000) ms, decoded by a "
              + "player after \((shown - flip) / 1_000_000)")
          #expect(packet.arrival - flip < 200_000_000)
          #expect(shown - flip < 200_000_000)
        }

        // Nobody was told that something is missing.
        let after = try #require(broadcast.status)
        #expect(after.agentPID == agent && after.json["deaths"] as? Int == 0)
        #expect(program.states.allSatisfy { $0.state == .live } && program.end == nil)
        #expect(player.isConnected && file.isConnected)
        #expect(!broadcast.relay.errors.contains("stalled"), "\(broadcast.relay.errors)")
        broadcast.end()
      }
    }
  }
}

extension Broadcast {
  /// Waits until nothing but an unchanged picture a second comes.
  fileprivate func waitForRest(_ program: PacketLog) throws {
    try waitUntil(
      "a screen at rest", within: .seconds(30),
      isTrue: {
        let count = program.packets.count
        _ = poll(nil, 0, 1500)
        return program.packets.count - count <= 2
      })
  }
}

/// What a broadcast took so far, or of each second of a spell.
private struct Spent: CustomStringConvertible {
  var time: Double
  /// Seconds of a processor.
  var agent: Double
  var relay: Double
  /// What its readers got.
  var programBytes: Double
  var playerBytes: Double

  init(_ agent: pid_t, _ relay: pid_t, _ program: PacketLog, _ file: ByteCount) throws {
    time = Double(MonotonicClock.now()) / 1e9
    self.agent = try ProcessFootprint(of: agent).cpuSeconds
    self.relay = try ProcessFootprint(of: relay).cpuSeconds
    programBytes = Double(program.byteCount)
    playerBytes = Double(file.count)
  }

  static func - (end: Spent, begin: Spent) -> Spent {
    var spent = end
    spent.time -= begin.time
    spent.agent = (end.agent - begin.agent) / spent.time
    spent.relay = (end.relay - begin.relay) / spent.time
    spent.programBytes = (end.programBytes - begin.programBytes) / spent.time
    spent.playerBytes = (end.playerBytes - begin.playerBytes) / spent.time
    return spent
  }

  var description: String {
    String(
      format: "a second takes %.3f %% of a processor at the agent, %.3f %% at the relay, "
        + "%.0f bytes to a program, %.0f to a player", agent * 100, relay * 100, programBytes,
      playerBytes)
  }
}

/// curl as a player that only counts.
private final class ByteCount {
  private let run: ProcessRun

  init(of url: String, in directory: TestDirectory) throws {
    run = try ProcessRun(
      "curl", ["-s", "-N", url], name: "bytes", in: directory)
  }

  var isConnected: Bool { run.exitCode == nil }
  var count: Int {
    var entry = stat()
    return stat(run.outputPath, &entry) == 0 ? Int(entry.st_size) : 0
  }
}

/// ffmpeg as a player that watches the square of `window.py --poked` alone: a byte for each picture.
private final class SquareWatch {
  private let run: ProcessRun

  init(_ url: String, in directory: TestDirectory) throws {
    run = try ProcessRun(
      "ffmpeg",
      [
        "-nostdin", "-loglevel", "error", "-flags", "low_delay", "-probesize", "65536",
        "-analyzeduration", "1", "-i", url, "-fps_mode", "passthrough", "-vf",
        "crop=64:64:1120:416,scale=1:1:flags=area,format=gray", "-flush_packets", "1", "-f",
        "rawvideo", "-",
      ], name: "square", in: directory)
  }

  var isConnected: Bool { run.exitCode == nil }

  /// When a picture with the square turned was there, within some milliseconds of CLOCK_MONOTONIC.
  func waitForTurn(after flip: Int64, isWhite: Bool) throws -> Int64 {
    let end = flip + 5_000_000_000
    while MonotonicClock.now() < end {
      if let last = try readFile(run.outputPath).last, (last > 128) == isWhite {
        return MonotonicClock.now()
      }
      _ = poll(nil, 0, 2)
    }
    throw ProcessFailure(description: "the player has not shown the change in 5 s")
  }
}

extension StillPicture {
  fileprivate var square: Colour { colour(x: 1120, y: 416, side: 64) }
}

extension ArraySlice<UInt8> {
  fileprivate func save(to path: String) throws {
    try Data(self).write(to: URL(fileURLWithPath: path))
  }
}
