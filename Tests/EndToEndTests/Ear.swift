import Foundation
import TestSupport

/// ffmpeg as a listener: it decodes the first sound of a broadcast, for as long as the value lives. Where the
/// stream says that samples are missing it hears silence, as in a player: a busy machine's graph leaves some out.
final class Ear {
  private let run: ProcessRun
  private static let samplesPerSecond = 48_000

  init(_ url: String, in directory: TestDirectory) throws {
    run = try ProcessRun(
      "ffmpeg",
      [
        "-nostdin", "-hide_banner", "-loglevel", "error", "-probesize", "65536",
        "-analyzeduration", "1", "-i", url, "-map", "0:a:0",
        "-af", "aresample=async=1,pan=mono|c0=c0", "-ar", "\(Self.samplesPerSecond)",
        "-flush_packets", "1", "-f", "f32le", "-",
      ], name: "ear", in: directory)
  }

  var isConnected: Bool { run.exitCode == nil }

  /// How much has been heard.
  var seconds: Double {
    var entry = stat()
    guard stat(run.outputPath, &entry) == 0 else { return 0 }
    return Double(entry.st_size) / 4 / Double(Self.samplesPerSecond)
  }

  /// How loud a pitch is in the last fifth of a second, from 0 to 1, whatever else there is (Goertzel).
  func level(of hertz: Int) -> Double {
    let samples = tail(Self.samplesPerSecond / 5)
    let step = 2 * Double.pi * Double(hertz) / Double(Self.samplesPerSecond)
    var (sine, cosine) = (0.0, 0.0)
    for (index, sample) in samples.enumerated() {
      sine += Double(sample) * sin(step * Double(index))
      cosine += Double(sample) * cos(step * Double(index))
    }
    return 2 * (sine * sine + cosine * cosine).squareRoot() / Double(max(samples.count, 1))
  }

  /// Waits until it hears this pitch, and not `other`.
  func wait(for hertz: Int, without other: Int? = nil, within limit: Duration) throws {
    try waitUntil("a tone of \(hertz) Hz", within: limit) {
      guard isConnected else { throw ProcessFailure(description: "the ear ended: \(run.errors)") }
      return level(of: hertz) > 0.1 && other.map { level(of: $0) < 0.02 } ?? true ? () : nil
    }
  }

  private func tail(_ count: Int) -> [Float] {
    guard let file = FileHandle(forReadingAtPath: run.outputPath) else { return [] }
    let size = (try? file.seekToEnd()) ?? 0
    let start = (size / 4 > count ? size / 4 - UInt64(count) : 0) * 4
    try? file.seek(toOffset: start)
    let data = (try? file.readToEnd()) ?? Data()
    return data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }
}

/// Another output of a desktop, with a tone of its own; gone with the desktop.
final class SecondOutput {
  private let desktop: DesktopSession
  private let directory: TestDirectory
  private let tone: ProcessRun

  init(of desktop: DesktopSession, hertz: Int, in directory: TestDirectory) throws {
    self.desktop = desktop
    self.directory = directory
    let node = """
      { factory.name=support.null-audio-sink node.name=second node.description="Second output"
      media.class=Audio/Sink object.linger=true audio.position=[FL FR] }
      """
    let made = try ProcessRun.run(
      "pw-cli", ["create-node", "adapter", node], environment: desktop.environment, in: directory)
    guard made.exitCode == 0 else { throw ProcessFailure(description: made.errors) }
    try waitUntil("the second output") { (try? desktop.node(named: "second")).map { _ in () } }
    tone = try ProcessRun(
      "gst-launch-1.0",
      [
        "-q", "audiotestsrc", "is-live=true", "freq=\(hertz)", "volume=0.5", "!",
        "audio/x-raw,format=S16LE,rate=48000,channels=2", "!", "pipewiresink",
        "target-object=second", "stream-properties=props,media.class=Stream/Output/Audio",
      ], name: "tone2", environment: desktop.environment, in: directory)
  }

  func makeDefault() throws {
    let run = try ProcessRun.run(
      "wpctl", ["set-default", try desktop.node(named: "second")],
      environment: desktop.environment, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
  }

  /// Also its tone, which would be moved to another output.
  func destroy() throws {
    tone.end()
    let run = try ProcessRun.run(
      "pw-cli", ["destroy", try desktop.node(named: "second")], environment: desktop.environment,
      in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
  }
}
