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
    Self.level(of: hertz, in: tail(Self.samplesPerSecond / 5))
  }

  /// The same of samples at 48 kHz.
  static func level(of hertz: Int, in samples: [Float]) -> Double {
    let step = 2 * Double.pi * Double(hertz) / Double(samplesPerSecond)
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

/// Another output of a desktop, or another microphone, with a tone of its own; gone with the desktop.
final class SecondDevice {
  enum Kind: String {
    case output = "Audio/Sink"
    case microphone = "Audio/Source/Virtual"
  }

  private let kind: Kind
  private let desktop: DesktopSession
  private let directory: TestDirectory
  private let tone: ProcessRun

  init(
    _ kind: Kind = .output, of desktop: DesktopSession, hertz: Int, in directory: TestDirectory
  ) throws {
    self.kind = kind
    self.desktop = desktop
    self.directory = directory
    let node = """
      { factory.name=support.null-audio-sink node.name=second node.description="Second device"
      media.class=\(kind.rawValue) object.linger=true audio.position=[FL FR] }
      """
    try desktop.run("pw-cli", "create-node", "adapter", node, in: directory)
    try waitUntil("the second device") { (try? desktop.node(named: "second")).map { _ in () } }
    // Nothing links a playback stream to a source by itself.
    tone = try desktop.play(
      hertz, as: "second_tone", kind == .output ? "target-object=second" : nil, in: directory)
    guard kind == .microphone else { return }
    for channel in ["FL", "FR"] {
      try waitUntil("the tone's link") {
        try? desktop.run(
          "pw-link", "second_tone:output_\(channel)", "second:input_\(channel)", in: directory)
      }
    }
  }

  func makeDefault() throws { try desktop.makeDefault(kind, "second", in: directory) }

  /// Also its tone, which would be moved to another output.
  func destroy() throws {
    tone.end()
    try desktop.run("pw-cli", "destroy", try desktop.node(named: "second"), in: directory)
  }
}

extension DesktopSession {
  /// Plays a tone of half the scale as a stream with this name: to `target`, an element's property, or to nothing.
  func play(
    _ hertz: Int, as name: String, _ target: String?, in directory: TestDirectory
  ) throws -> ProcessRun {
    let link = target == nil ? ",node.autoconnect=false" : ""
    let words = [
      "-q", "audiotestsrc", "is-live=true", "freq=\(hertz)", "volume=0.5", "!",
      "audio/x-raw,format=S16LE,rate=48000,channels=2", "!", "pipewiresink",
      "stream-properties=props,media.class=Stream/Output/Audio,node.name=\(name)\(link)",
    ]
    return try ProcessRun(
      "gst-launch-1.0", words + [target].compactMap { $0 }, name: name, environment: environment,
      in: directory)
  }

  /// Makes an output or a microphone the one that a program gets without a word. `wpctl` does so only for
  /// what says it is a device.
  func makeDefault(
    _ kind: SecondDevice.Kind, _ name: String, in directory: TestDirectory
  ) throws {
    let key = "default.configured.audio.\(kind == .output ? "sink" : "source")"
    try run("pw-metadata", "0", key, "{ \"name\": \"\(name)\" }", "Spa:String:JSON", in: directory)
  }

  fileprivate func run(_ program: String, _ words: String..., in directory: TestDirectory) throws {
    let run = try ProcessRun.run(program, words, environment: environment, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
  }
}
