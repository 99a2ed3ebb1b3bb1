import Glibc
import TestSupport
import Testing

/// What the `ffmpeg` program decodes from an Annex B stream: the second opinion.
struct DecodedStream {
  /// NV12 of the display size, one array a picture.
  let pictures: [[UInt8]]
  /// What ffmpeg complained of; it conceals damage without calling it an error.
  let complaints: [String]

  init(_ stream: [UInt8], width: Int, height: Int) throws {
    (pictures, complaints) = try withTestDirectory { directory in
      try write(stream, to: directory.file("in.h264"))
      let run = try ProcessRun.run(
        "ffmpeg",
        [
          "-nostdin", "-hide_banner", "-v", "info", "-f", "h264", "-i", directory.file("in.h264"),
          "-fps_mode", "passthrough", "-pix_fmt", "nv12", "-f", "rawvideo", "-y",
          directory.file("out.nv12"),
        ], in: directory)
      let bytes = try readFile(directory.file("out.nv12"))
      let size = width * height * 3 / 2
      try #require(bytes.count % size == 0)
      let pictures = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<$0 + size]) }
      let words = ["error", "conceal", "invalid", "missing", "corrupt"]
      let complaints = run.errors.lowercased().split(separator: "\n").map(String.init)
        .filter { line in words.contains { line.contains($0) } }
      return (pictures, complaints)
    }
  }
}

private func write(_ bytes: [UInt8], to path: String) throws {
  let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  try #require(fd >= 0)
  defer { close(fd) }
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
    try #require(count > 0)
    rest = rest.dropFirst(count)
  }
}
