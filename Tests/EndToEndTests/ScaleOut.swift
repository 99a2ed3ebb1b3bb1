import Foundation
import TestSupport

/// The engines that `packaging/scale-out/` configures, started with those files as they are but for
/// folders and ports.
final class ScaleOut {
  let originRTMP = freePort()
  let originHTTP = freePort()
  private let directory: TestDirectory
  private var runs: [ProcessRun] = []

  init(in directory: TestDirectory) throws {
    self.directory = directory
    let folder = try folder("origin")
    try start(
      "origin",
      [
        "/var/lib/porthole-origin": folder, "1935": "\(originRTMP)", "8081": "\(originHTTP)",
      ])
  }

  /// Another edge; where it gives streams by RTMP, and lists of segments by HTTP.
  func edge() throws -> (rtmp: UInt16, http: UInt16, run: ProcessRun) {
    let (rtmp, http) = (freePort(), freePort())
    let name = "edge\(runs.count)"
    let run = try start(
      "edge",
      [
        "/var/lib/porthole-edge": try folder(name), "1935": "\(originRTMP)", "1936": "\(rtmp)",
        "8081": "\(originHTTP)", "8082": "\(http)",
      ], as: name)
    return (rtmp, http, run)
  }

  var origin: ProcessRun { runs[0] }

  /// Who publishes and watches, as XML.
  var statistics: String {
    (try? ProcessRun.run("curl", ["-s", "http://127.0.0.1:\(originHTTP)/stat"], in: directory))?
      .output ?? ""
  }

  /// A Janus that takes RTP; the port of its WebSocket.
  static func janus(rtp: UInt16, in directory: TestDirectory) throws -> (ProcessRun, UInt16) {
    let port = freePort()
    let folder = directory.file("janus")
    mkdir(folder, 0o700)
    for name in ["janus", "janus.plugin.streaming", "janus.transport.websockets"] {
      try write(
        "janus/\(name).jcfg", to: "\(folder)/\(name).jcfg",
        ["/etc/porthole/janus": folder, "5004": "\(rtp)", "5005": "\(rtp + 1)", "8188": "\(port)"])
    }
    return (try ProcessRun("janus", ["--configs-folder=\(folder)"], in: directory), port)
  }

  private func folder(_ name: String) throws -> String {
    let path = directory.file(name)
    for part in ["", "/hls"] { mkdir(path + part, 0o700) }
    return path
  }

  @discardableResult
  private func start(
    _ configuration: String, _ changes: [String: String], as name: String? = nil
  ) throws -> ProcessRun {
    let name = name ?? configuration
    let path = directory.file("\(name).conf")
    // The workers of a test that is root must reach its folder.
    try Self.write("\(configuration).conf", to: path, changes.merging(["www-data": "root"]) { $1 })
    let run = try ProcessRun(
      "/usr/sbin/nginx", ["-c", path, "-g", "daemon off;"], name: name, in: directory)
    runs.append(run)
    return run
  }

  private static func write(
    _ file: String, to path: String, _ changes: [String: String]
  ) throws {
    var text = String(
      decoding: try readFile(packageRoot + "/packaging/scale-out/\(file)"), as: UTF8.self)
    // First to what stands nowhere: a port of the kernel's choice may be one that is looked for.
    for (index, old) in changes.keys.sorted().enumerated() {
      text = text.replacingOccurrences(of: old, with: "\u{1}\(index)\u{2}")
    }
    for (index, old) in changes.keys.sorted().enumerated() {
      text = text.replacingOccurrences(of: "\u{1}\(index)\u{2}", with: changes[old] ?? "")
    }
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }
}

/// Reads a stream as ffprobe's demuxer does (`scripts/outputs/gaps.py`).
final class GapReader {
  struct Gaps: Decodable {
    let pictures: Int
    /// Seconds between two pictures as they came, and as they are to be shown, at most.
    let wall: Double
    let media: Double
  }

  let run: ProcessRun
  private let seconds: Int

  /// Looks for so many seconds from the first picture of `url` on; `-`: of what `command` writes.
  init(
    _ url: String, _ command: [String] = [], seconds: Int, name: String,
    in directory: TestDirectory
  ) throws {
    self.seconds = seconds
    run = try ProcessRun(
      packageRoot + "/scripts/outputs/gaps.py", ["\(seconds)", url] + command, name: name,
      in: directory)
  }

  /// Waits for its first picture.
  func waitUntilReading() throws {
    try waitUntil("picture of \(run.name)", within: .seconds(20)) {
      if let code = run.exitCode {
        throw ProcessFailure(description: "\(run.name): code \(code): \(run.errors)")
      }
      return run.output.contains("reading")
    }
  }

  func gaps() throws -> Gaps {
    let code = try run.waitForEnd(within: .seconds(seconds + 30))
    let line = run.output.split(separator: "\n").last ?? ""
    guard code == 0, let gaps = try? JSONDecoder().decode(Gaps.self, from: Data(line.utf8)) else {
      throw ProcessFailure(description: "\(run.name): code \(code): \(line) \(run.errors)")
    }
    return gaps
  }

  /// The pictures of a file, and the longest time between two of them as they are to be shown.
  static func media(of file: String, in directory: TestDirectory) throws -> (
    pictures: Int, media: Double
  ) {
    let probe = try ProcessRun.run(
      "ffprobe",
      [
        "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
        "csv=p=0", file,
      ], name: "file", in: directory)
    let times = probe.output.split { $0.isNewline || $0 == "," }.compactMap { Double($0) }
    return (times.count, zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .infinity)
  }
}
