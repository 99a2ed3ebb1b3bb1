import CommandOptions
import Posix

/// The relay's command line, parsed once.
struct Options {
  static let table = OptionTable(
    program: "host-relay",
    summary: "Takes the broadcast of a capture agent and hands it to every viewer.\n"
      + "host-relay ctl --help: how to ask the one that runs.",
    standardFile: "host-relay.conf",
    options: [
      Option(
        "agent", .value("ADDRESS:PORT"), "where the agent listens",
        standard: "127.0.0.1:13579"),
      Option("spawn-agent", .value("COMMAND"), "start this agent when nobody answers there"),
      Option("setup", .flag, "capture nothing before somebody starts (docs/relay.md)"),
      Option(
        "consumers", .value("ADDRESS:PORT"), "packets for programs", standard: "127.0.0.1:13580"),
      Option(
        "http", .value("ADDRESS:PORT"), "page, /live.ts and status", standard: "127.0.0.1:13581"),
      Option("tls", .flag, "HTTPS, with a certificate made at the first start"),
      Option("tls-certificate", .value("FILE"), "HTTPS, with this chain of PEM certificates"),
      Option("tls-key", .value("FILE"), "the key of that certificate, PEM"),
      Option(
        "host", .value("NAME"), "a name that clients may call us by in HTTP", isRepeatable: true),
      Option(
        "push", .value("URL"), "send it there: rtmp, srt, rtp, hls:FILE ... (docs/outputs.md)",
        isRepeatable: true),
      Option(
        "mix", .value("APP,MIC"), "percent of each where a push takes one sound",
        standard: "100,100"),
      Option("record", .value("FILE"), "record it: .mp4, .mkv, .ts or .flv; never written over"),
      Option(
        "hold", .value("SECONDS"), "keep a broadcast without its agent; 0: for ever",
        standard: "30"),
      Option(
        "viewer-key", .value("KEY"), "lets other users watch; made and kept if not given"),
      Option(
        "control-key", .value("KEY"), "lets other users control; made and kept if not given"),
      Option("check", .flag, "say what is wrong with these options, and stop"),
    ])

  let agent: SocketAddress
  let spawnAgent: [String]?
  /// Whether a broadcast begins with a start, and not with the relay.
  let waitsForStart: Bool
  let consumers: SocketAddress
  let http: SocketAddress
  /// nil: plain HTTP.
  let tls: TLSChoice?
  let hosts: [String]
  let pushes: [PushTarget]
  let mix: SoundMix
  let recording: RecordingShelf?
  /// nil: for ever.
  let hold: Duration?
  /// nil: the kept one.
  let viewerKey: AccessKey?
  let controlKey: AccessKey?

  init(_ values: OptionValues) throws(UsageError) {
    if let word = values.words.first { throw UsageError("unexpected word \(word) (see --help)") }
    agent = try values.value("agent", "a loopback address and port") { text in
      SocketAddress(text).flatMap { $0.isLoopback && $0.port != 0 ? $0 : nil }
    }
    spawnAgent =
      values["spawn-agent"] == nil
      ? nil
      : try values.value("spawn-agent", "a command with closed quotes") {
        try? CommandWords.split($0)
      }
    waitsForStart = values.isOn("setup")
    let address = "an address and port such as 127.0.0.1:13580"
    consumers = try values.value("consumers", address, SocketAddress.init(_:))
    http = try values.value("http", address, SocketAddress.init(_:))
    tls = try Self.tls(values)
    hosts = values.all("host")
    var pushes: [PushTarget] = []
    for text in values.all("push") { pushes.append(try PushTarget(push: text)) }
    self.pushes = pushes
    mix = try values.value("mix", "two numbers from 0 to 400 such as 100,80", SoundMix.init(_:))
    recording = try values["record"].map { text throws(UsageError) in
      try RecordingShelf(file: text, option: "--record")
    }
    let seconds = try values.value("hold", "whole seconds", OptionFormat.seconds)
    hold = seconds == 0 ? nil : .seconds(seconds)
    viewerKey = try Self.key("viewer-key", values)
    controlKey = try Self.key("control-key", values)
    if let viewerKey, viewerKey == controlKey {
      throw UsageError("--control-key must not be the viewer key, which only watches")
    }
  }

  private static func tls(_ values: OptionValues) throws(UsageError) -> TLSChoice? {
    switch (values["tls-certificate"], values["tls-key"]) {
    case (let certificate?, let key?): return .given(certificate: certificate, key: key)
    case (nil, nil): return values.isOn("tls") ? .made : nil
    default: throw UsageError("--tls-certificate and --tls-key go together")
    }
  }

  private static func key(
    _ name: String, _ values: OptionValues
  ) throws(UsageError) -> AccessKey? {
    values[name] == nil ? nil : try values.value(name, AccessKey.form, AccessKey.init(_:))
  }
}
