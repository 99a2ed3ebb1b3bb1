import Foundation
import TestSupport
import Testing

@testable import CaptureAgent

/// Everything at once, for long: ten thousand frames in the long run, some hundred in the short one.
struct EnduranceTests {
  @Test("whatever happens between pictures, each one that comes decodes, and nothing grows")
  func endurance() async {
    await #expect(processExitsWith: .success) {
      let count = ProcessInfo.processInfo.environment["PORTHOLE_LONG"] == nil ? 400 : 10_000
      let folder = FileManager.default.temporaryDirectory.appending(path: "endure-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let leaks = folder.appending(path: "leaks")
      setenv("PORTHOLE_DRIVER_LEAKS", leaks.path, 1)
      let stream = folder.appending(path: "stream.h264")
      _ = FileManager.default.createFile(atPath: stream.path, contents: nil)
      let writer = try FileHandle(forWritingTo: stream)

      let descriptors = try openDescriptors()
      var random = SplitMix(seed: 5)
      var tally = Tally()
      do {
        let run = try EnduranceRun()
        let gauge = try MemoryGauge()
        var settled = 0
        for number in 0..<count {
          try run.step(number, &random, &tally) { try writer.write(contentsOf: $0) }
          if number == count / 4 { settled = gauge.footprint().dataKB }
        }
        // By then every size and every way to fail was met.
        #expect(gauge.footprint().dataKB - settled < 2 << 10, "\(settled)")
      }
      try writer.close()
      #expect(try openDescriptors() <= descriptors)
      try expectNothingLeft(in: leaks)
      #expect(tally.units + tally.lost == count)
      #expect(tally.lost > 0 && tally.lost < count / 5, "\(tally)")
      #expect(tally.unasked >= tally.lost / 2, "\(tally)")
      let (pictures, log) = try decodedCount(of: stream.path)
      #expect(pictures == tally.units, "\(log.suffix(2000))")
      for word in ["conceal", "error", "invalid", "missing", "corrupt"] {
        #expect(!log.lowercased().contains(word), "\(log.suffix(2000))")
      }
    }
  }
}

private struct Tally {
  var units = 0
  var lost = 0
  /// Keyframes that nobody asked for.
  var unasked = 0
}

/// An encoder, what it is fed with, and what is done to it.
private final class EnduranceRun {
  private static let sizes = [
    (16, 16), (64, 48), (97, 33), (128, 96), (160, 90), (176, 144), (33, 177), (240, 135),
  ]
  /// What is made to fail, one after the other, each time a device is opened.
  private static let calls = [
    "vaEndPicture", "vaMapBuffer", "vaBeginPicture", "vaRenderPicture", "vaSyncBuffer",
    "vaCreateBuffer", "vaDeriveImage", "overflow", "bad-bitstream",
  ]
  private static let personalities = ["", "intel", "amd-old", "amd-24", "amd-new", "segments"]

  private var encoder: VAAPIEncoder
  private var frames: DrawnFrames
  private var shape: FrameShape
  private var opened = 0

  init() throws {
    Self.setFaults(0)
    frames = try DrawnFrames(width: 64, height: 48)
    shape = FrameShape(width: 64, height: 48)
    encoder = try softwareEncoder(width: 64, height: 48)
  }

  /// A fault in every thirtieth picture or so: of each call a few, and now and then one that lasts.
  private static func setFaults(_ opened: Int) {
    var random = SplitMix(seed: UInt64(opened) + 1)
    var faults: [String] = []
    for (index, call) in calls.enumerated() {
      // Buffers are made seven times a picture, the other calls once.
      let rate = call == "vaCreateBuffer" ? 7 : 1
      var at = rate * (20 + random.below(200))
      // No device lives longer, and the C library never gives back what the environment held.
      for _ in 0..<12 {
        faults.append("\(call)@\(at)")
        at += rate * (100 + random.below(400)) + index
      }
    }
    faults.append("vaEndPicture@\(1000 + random.below(500))+")
    setenv("PORTHOLE_DRIVER_FAULTS", faults.joined(separator: ","), 1)
    setenv("PORTHOLE_DRIVER_PERSONALITY", personalities[opened % personalities.count], 1)
  }

  func step(
    _ number: Int, _ random: inout SplitMix, _ tally: inout Tally,
    write: ([UInt8]) throws -> Void
  ) throws {
    do {
      if random.below(25) == 0 { try changeShape(&random) }
      if random.below(20) == 0 {
        encoder.setBitrate(random.below(2) == 0 ? nil : 100_000 + random.below(20_000_000))
      }
      frames.draw { x, y in color(x, y, number) }
      try encoder.load(frames.frame(orientation: shape.orientation))
      let keyframe = random.below(15) == 0
      let unit = try encoder.encode(keyframe: keyframe, pts: Int64(number))
      if unit.isKeyframe, !keyframe { tally.unasked += 1 }
      if keyframe { #expect(unit.isKeyframe) }
      tally.units += 1
      try write(unit.bytes())
    } catch is EncoderError {
      tally.lost += 1
      // What is opened next fails elsewhere.
      opened += 1
      Self.setFaults(opened)
    }
  }

  private func changeShape(_ random: inout SplitMix) throws {
    let (width, height) = Self.sizes[random.below(Self.sizes.count)]
    let turns = random.below(8)
    frames = try DrawnFrames(width: width, height: height)
    shape = FrameShape(
      width: width, height: height,
      orientation: .init(quarterTurns: turns, isMirrored: turns >= 4))
    try encoder.reconfigure(for: shape, isHalved: random.below(4) == 0)
  }
}

private func openDescriptors() throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

/// How many pictures ffmpeg decodes, whatever their sizes, and all that it says.
private func decodedCount(of path: String) throws -> (Int, String) {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [
    "ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-nostats", "-err_detect", "explode", "-f",
    "h264", "-i", path, "-fps_mode", "passthrough", "-s", "64x64", "-f", "framecrc", "-",
  ]
  let output = Pipe()
  let log = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID())")
  defer { try? FileManager.default.removeItem(at: log) }
  _ = FileManager.default.createFile(atPath: log.path, contents: nil)
  process.standardOutput = output
  process.standardError = try FileHandle(forWritingTo: log)
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
  return (lines.count, try String(contentsOf: log, encoding: .utf8))
}
