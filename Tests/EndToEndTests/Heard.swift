import Foundation
import Posix
import TestSupport
import Wire

/// What a consumer gets of a broadcast's sounds in some time.
struct Heard {
  struct Packet {
    let pts: Int64
    let arrival: ContinuousClock.Instant
    /// It says that samples are missing before it.
    let followsGap: Bool
  }

  private(set) var packets: [StreamDescription.Source: [Packet]] = [:]
  private(set) var largestKeyframe = 0
  private var keyframes: [ContinuousClock.Instant] = []

  /// Reads for `duration`, and asks for a keyframe each second. Pictures are passed over without a look:
  /// a reader that is slow itself would measure that.
  init(_ broadcast: Broadcast, for duration: Duration) throws {
    let peer = try ScriptedPeer.consumer(of: broadcast.consumers)
    let sounds = Dictionary(
      uniqueKeysWithValues: [StreamDescription.Source.appSound, .microphone].map {
        (UInt32($0.rawValue), $0)
      })
    let end = ContinuousClock.now + duration
    var second = ContinuousClock.now
    while ContinuousClock.now < end {
      if ContinuousClock.now >= second {
        second += .seconds(1)
        try peer.send(.keyframeRequest(stream: 1))
      }
      let header = try peer.skipMessage()
      guard header.kind == .packet else { continue }
      if let source = sounds[header.stream] {
        packets[source, default: []].append(
          Packet(
            pts: header.pts, arrival: .now, followsGap: header.flags.contains(.discontinuity)))
      } else if header.flags.contains(.keyframe) {
        largestKeyframe = max(largestKeyframe, header.length)
        keyframes.append(.now)
      }
    }
  }

  /// How long this sound waited at most while each keyframe passed, the shortest first.
  func waits(for source: StreamDescription.Source) -> [Duration] {
    let arrivals = packets[source]?.map(\.arrival) ?? []
    let steps = Array(zip(arrivals, arrivals.dropFirst()))
    return keyframes.compactMap { keyframe in
      steps.filter { $1 > keyframe - .milliseconds(200) && $0 < keyframe + .milliseconds(100) }
        .map { $1 - $0 }.max()
    }.sorted()
  }
}

/// The tone of one sound in a file, as ffmpeg decodes it: of all but the first second.
struct Tone: CustomStringConvertible {
  let hertz: Double
  /// Of the root of the mean square, 0 for a square wave of full scale.
  let decibels: Double

  var description: String { "\(hertz) Hz at \(decibels) dB" }

  init(of file: String, track: Int, in directory: TestDirectory) throws {
    let samples = try Self.samples(of: file, track: track, in: directory).dropFirst(48_000)
    guard samples.count > 48_000 else {
      throw ProcessFailure(description: "\(samples.count) samples in track \(track)")
    }
    // Of the most periods: on a busy machine the player of the tone itself leaves some samples out.
    var rises: [Double] = []
    for (index, pair) in zip(samples, samples.dropFirst()).enumerated()
    where pair.0 < 0 && pair.1 >= 0 {
      rises.append(Double(index) + Double(pair.0 / (pair.0 - pair.1)))
    }
    let periods = zip(rises, rises.dropFirst()).map { $1 - $0 }.sorted()
    guard !periods.isEmpty else { throw ProcessFailure(description: "silence in track \(track)") }
    hertz = 48_000 / periods[periods.count / 2]
    let square = samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
    decibels = 10 * log10(square)
  }

  /// The left side at 48 kHz.
  static func samples(
    of file: String, track: Int, in directory: TestDirectory
  ) throws -> [Float] {
    let path = directory.file("track\(track).f32")
    let run = try ProcessRun.run(
      "ffmpeg",
      [
        "-nostdin", "-y", "-v", "error", "-i", file, "-map", "0:a:\(track)", "-af",
        "pan=mono|c0=c0", "-ar", "48000", "-f", "f32le", path,
      ], name: "decode\(track)", in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
    return try readFile(path).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }
}
