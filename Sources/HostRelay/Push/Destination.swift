import CommandOptions

/// Where `ffmpeg` brings a broadcast, in its own words.
///
/// Argument lists are public, and so are logs and the status. What opens a destination is in `preset`
/// alone.
struct Destination: Equatable, Sendable {
  /// What people are shown.
  let name: String
  let format: MediaFormat
  /// Other options of the output.
  private(set) var options: [String] = []
  /// The last word: an address without its secrets, or a file.
  let address: String
  /// Lines `option=value` that ffmpeg reads from a file (`-fpre`); nil: none.
  var preset: String?
  /// Texts that nobody may see, longest first.
  var secrets: [String] = []

  /// What ffmpeg reads of one line of a preset.
  private static let longestSecret = 900

  /// Where `url` leads; throws what is wrong with it, without a secret.
  init(url text: String) throws(UsageError) {
    guard let url = MediaURL(text) else {
      throw UsageError("--push: expected an address such as rtmp://host/app/key, or a file")
    }
    guard url.user == nil else {
      throw UsageError(
        "--push \(url.scheme)://\(url.authority): user and password in an address would be seen by all"
          + " users of this machine")
    }
    guard OutputProtocols.contains(url.scheme) else {
      throw UsageError(
        "--push \(url.scheme)://\(url.authority): ffmpeg has no protocol \(url.scheme)")
    }
    switch url.scheme {
    case "rtmp", "rtmps", "rtmpt", "rtmpe", "rtmpts", "rtmpte": try self.init(rtmp: url)
    case "srt": try self.init(url, format: .transportStream, hiding: ["passphrase", "streamid"])
    case "rist": try self.init(url, format: .transportStream, hiding: ["secret"])
    case "rtp", "srtp": try self.init(url, format: .rtp, hiding: ["srtp_out_params"])
    case "rtsp": try self.init(url, format: .rtsp, hiding: [])
    case "http", "https":
      guard url.query.isEmpty else {
        throw UsageError(
          "--push \(url.scheme)://\(url.authority): what stands behind the ? would be seen by all users"
            + " of this machine")
      }
      try self.init(url, format: MediaFormat(path: url.path) ?? .transportStream, hiding: [])
    default: try self.init(url, format: MediaFormat(path: url.path) ?? .transportStream, hiding: [])
    }
  }

  /// A file, in the format that its name says.
  init(file path: String, format: MediaFormat) {
    name = path
    self.format = format
    // Without this a name with a colon in it would be a protocol.
    address = "file:" + path
  }

  /// What ffmpeg says of it, as it may be shown: without secrets, and without the address in front.
  func redacted(_ line: String) -> String {
    let line = secrets.reduce(line) { $0.replacing($1, with: "…") }
    return line.hasPrefix(address + ": ") ? String(line.dropFirst(address.count + 2)) : line
  }

  /// rtmp://host:port/app/key. The key is what opens it, and some services put another into `app`.
  private init(rtmp url: MediaURL) throws(UsageError) {
    let path = url.path.drop { $0 == "/" }
    let slash = path.lastIndex(of: "/")
    let app = slash.map { path[..<$0] } ?? path
    var key = slash.map { String(path[path.index(after: $0)...]) } ?? ""
    if !url.query.isEmpty { key += "?" + url.query }
    guard !app.isEmpty, !key.isEmpty else {
      throw UsageError(
        "--push \(url.scheme)://\(url.authority): expected \(url.scheme)://host/app/key")
    }
    name = "\(url.scheme)://\(url.authority)/\(app)/…"
    format = .flv
    options = Self.deadline
    address = "\(url.scheme)://\(url.authority)"
    try hide([("rtmp_app", String(app)), ("rtmp_playpath", key)], of: url)
    secrets.removeAll { $0 == app }
  }

  private init(
    _ url: MediaURL, format: MediaFormat, hiding names: Set<String>
  ) throws(UsageError) {
    let parameters = url.parameters
    let kept = parameters.filter { !names.contains($0.name.lowercased()) }.map {
      "\($0.name)=\($0.value)"
    }
    let query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
    name = "\(url.scheme)://\(url.authority)" + (url.path.count > 1 ? "/…" : "")
    self.format = format
    options = Self.deadline
    address = "\(url.scheme)://\(url.authority)\(url.path)\(query)"
    try hide(
      parameters.filter { names.contains($0.name.lowercased()) }.map {
        ($0.name.lowercased(), MediaURL.decoded($0.value))
      }, of: url)
  }

  /// What an output that hangs may take; the relay itself looks too, but one that is killed cannot.
  private static let deadline = [
    "-rw_timeout", "\(RelayLimits.childStuckAfter.components.seconds * 1_000_000)",
  ]

  private mutating func hide(
    _ options: [(name: String, value: String)], of url: MediaURL
  ) throws(UsageError) {
    guard !options.isEmpty else { return }
    for option in options {
      let isPlain = option.value.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
      guard isPlain, option.value.utf8.count <= Self.longestSecret else {
        throw UsageError(
          "--push \(url.scheme)://\(url.authority): \(option.name) must be one line of at most"
            + " \(Self.longestSecret) bytes")
      }
    }
    preset = options.map { "\($0.name)=\($0.value)\n" }.joined()
    secrets = options.map(\.value).filter { !$0.isEmpty }.sorted { $0.count > $1.count }
  }
}
