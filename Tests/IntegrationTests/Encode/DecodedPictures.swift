import Foundation
import Testing

/// What the `ffmpeg` program makes of an Annex B stream.
struct DecodedPictures {
  let width: Int
  let height: Int
  /// NV12, one array a picture.
  let pictures: [[UInt8]]
  /// Everything ffmpeg had to say: it conceals damage without calling it an error.
  let log: String

  init(annexB: [UInt8], width: Int, height: Int) throws {
    self.width = width
    self.height = height
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("porthole-decode-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appendingPathComponent("in.h264")
    let output = folder.appendingPathComponent("out.nv12")
    let messages = folder.appendingPathComponent("log")
    try Data(annexB).write(to: input)
    try Data().write(to: messages)
    let ffmpeg = Process()
    ffmpeg.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    ffmpeg.arguments = [
      "ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-err_detect", "explode", "-f", "h264",
      "-i", input.path, "-fps_mode", "passthrough", "-pix_fmt", "nv12", "-f", "rawvideo",
      output.path,
    ]
    ffmpeg.standardError = try FileHandle(forWritingTo: messages)
    try ffmpeg.run()
    ffmpeg.waitUntilExit()
    log = try String(contentsOf: messages, encoding: .utf8)
    let bytes = [UInt8]((try? Data(contentsOf: output)) ?? Data())
    let size = width * height * 3 / 2
    pictures = stride(from: 0, to: bytes.count - bytes.count % size, by: size).map {
      Array(bytes[$0..<$0 + size])
    }
  }

  /// Whether ffmpeg found nothing wrong, not even something it could hide.
  var isClean: Bool {
    let complaints = ["error", "conceal", "invalid", "missing", "corrupt"]
    return !complaints.contains { log.lowercased().contains($0) }
  }
}
