import CLinux
import CUV
import Glibc
import Posix

/// One run of the `ffmpeg` program, which takes the broadcast as MPEG-TS and brings it somewhere.
///
/// Whatever hangs, hangs there: the relay writes to it without waiting, and ends it when it must. Its
/// input ends with the relay, also with one that is killed, and with its input it ends itself.
final class FFmpegRun {
  /// What it reports of itself twice a second.
  var progressed: ((ProgressReport) -> Void)?
  /// A line that it says to people; it may hold what nobody may see.
  var said: ((String) -> Void)?
  /// It is gone, and has said everything.
  var ended: ((ChildEnd) -> Void)?

  /// What reads the broadcast: it believes the first 0.5 s of it. Reports and complaints come on
  /// descriptor 2.
  private static let input = [
    "ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-nostats", "-progress", "pipe:2",
    "-stats_period", "0.5", "-probesize", "500000", "-analyzeduration", "500000", "-fpsprobesize",
    "0", "-f", "mpegts", "-i", "pipe:0",
  ]
  /// How long one whose input has ended may take, and then one that was told by SIGTERM.
  private static let finishTime = Duration.seconds(2)
  private static let terminateTime = Duration.seconds(1)
  private static let lineLimit = 4096

  private let errors: ChildPipe
  private let patience: LoopTimer
  private let poll: LoopPoll
  private var child: ChildProcess?
  private var report = ProgressReport()
  /// The beginning of a line that is not whole yet.
  private var line: [UInt8] = []

  /// Starts it towards `destination`, fed by `feed`. `tracks` are its options for what is taken of the
  /// input.
  init(
    to destination: Destination, tracks: [String], from feed: ChildFeed, on loop: EventLoop
  ) throws {
    let input = try ChildPipe(.toChild)
    errors = try ChildPipe(.fromChild)
    var preset: OwnedFD?
    if let text = destination.preset { preset = try Self.memoryFile(text) }
    patience = try LoopTimer(on: loop)
    do { poll = try LoopPoll(errors.ours, on: loop) } catch {
      patience.close()
      throw error
    }
    do {
      child = try ChildProcess(
        Self.words(to: destination, tracks),
        descriptors: [input.childs, nil, errors.childs, preset?.raw],
        on: loop
      ) { [self] in childEnded($0) }
      input.given()
      errors.given()
      poll.start { [weak self] in self?.read() }
      try feed.open(input, now: .now)
    } catch {
      // One that has started ends with its input.
      if child == nil { close() }
      throw error
    }
  }

  /// Sees to it that it ends, now that its input has: by SIGTERM, in the end by SIGKILL.
  func expectEnd() {
    patience.start(after: Self.finishTime) { [weak self] in
      self?.child?.send(SIGTERM)
      self?.patience.start(after: Self.terminateTime) { self?.kill() }
    }
  }

  func kill() { child?.send(SIGKILL) }

  private func childEnded(_ end: ChildEnd) {
    read()
    takeLine()
    child = nil
    close()
    let ended = ended
    (self.ended, progressed, said) = (nil, nil, nil)
    ended?(end)
  }

  private func close() {
    poll.close()
    patience.close()
  }

  private func read() {
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes {
        unsafe Glibc.read(errors.ours, $0.baseAddress, $0.count)
      }
      guard count > 0 else {
        if count == 0 { poll.stop() }
        return
      }
      for byte in piece[..<count] {
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
          takeLine()
        } else if line.count < Self.lineLimit {
          line.append(byte)
        }
      }
    }
  }

  private func takeLine() {
    guard !line.isEmpty else { return }
    let text = String(decoding: line, as: UTF8.self)
    line.removeAll(keepingCapacity: true)
    switch report.take(text) {
    case .foreign: said?(text)
    case .part: break
    case .whole: progressed?(report)
    }
  }

  private static func words(to destination: Destination, _ tracks: [String]) -> [String] {
    let preset = destination.preset == nil ? [] : ["-fpre", "/proc/self/fd/3"]
    return input + tracks + destination.options + destination.format.words + preset
      + [destination.address]
  }

  /// A file that only its descriptor names, for what no argument list may show.
  private static func memoryFile(_ text: String) throws(PosixError) -> OwnedFD {
    let file = OwnedFD(
      try check(unsafe memfd_create("porthole-preset", UInt32(MFD_CLOEXEC)), "memfd_create"))
    let bytes = Array(text.utf8)
    let count = unsafe bytes.withUnsafeBytes { unsafe write(file.raw, $0.baseAddress, $0.count) }
    guard count == bytes.count else { throw PosixError("write") }
    return file
  }
}
