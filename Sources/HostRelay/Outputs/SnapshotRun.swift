import Glibc
import Posix

/// One run of `ffmpeg` that makes a still picture of fragmented MP4. What it decodes was made by an
/// agent, so no decoder works in the relay itself.
///
/// Both files lie in memory: nothing of it waits for anybody, and a child that hangs is killed.
final class SnapshotRun {
  enum Format: String, CaseIterable {
    case png, jpg

    var mediaType: String { self == .png ? "image/png" : "image/jpeg" }

    fileprivate var codec: [String] {
      switch self {
      case .png: ["-c:v", "png"]
      case .jpg: ["-c:v", "mjpeg", "-q:v", "3"]
      }
    }
  }

  private let output: MemoryFile
  private let timer: LoopTimer

  /// `packets` are the head of the file and one fragment a picture; `ended` gets the picture, or
  /// why there is none.
  init(
    _ packets: [Packet], as format: Format, on loop: EventLoop,
    ended: @escaping (Result<[UInt8], SnapshotError>) -> Void
  ) throws {
    let input = try MemoryFile()
    for packet in packets { try unsafe input.append(packet.bytes.bytes) }
    input.rewind()
    output = try MemoryFile()
    timer = try LoopTimer(on: loop)
    let last = packets.count { $0.kind != .message } - 1
    let words =
      ["ffmpeg", "-nostdin", "-loglevel", "quiet", "-threads", "1", "-f", "mp4", "-i", "pipe:0"]
      + ["-vf", "select=eq(n\\,\(last))", "-fps_mode", "passthrough", "-frames:v", "1"]
      + format.codec + ["-f", "image2pipe", "pipe:1"]
    do {
      let child = try ChildProcess(
        words, descriptors: [input.descriptor, output.descriptor, nil], on: loop
      ) { [self] _ in
        timer.close()
        let bytes = output.contents(limit: RelayLimits.snapshotBytes) ?? []
        ended(bytes.isEmpty ? .failure(.unreadable) : .success(bytes))
      }
      timer.start(after: RelayLimits.snapshotTime) { child.send(SIGKILL) }
    } catch {
      timer.close()
      throw error
    }
  }
}

/// Why there is no still picture.
enum SnapshotError: Error, CustomStringConvertible {
  case nothingShown, unreadable
  case noProgram(String)

  var description: String {
    switch self {
    case .nothingShown: "there is no picture yet"
    case .unreadable: "the last picture could not be decoded"
    case .noProgram(let why): "ffmpeg makes the picture, and does not start: \(why)"
    }
  }
}
