import TestSupport

/// ffmpeg as a viewer: it decodes all that comes and writes down the counter of each picture.
///
/// The test window draws the counter as 24 squares of 32 pixels (scripts/desktop/picture.py): white,
/// black, 16 bits of the number, 6 bits of it modulo 61.
final class Player {
  private let run: ProcessRun
  private static let squares = 24

  /// `seconds`: how much of the stream to play; nil: until the value goes.
  init(_ url: String, seconds: Int? = nil, name: String = "player", in directory: TestDirectory)
    throws
  {
    let cut =
      "crop=768:32:64:64,format=gray,crop=768:16:0:8,scale=\(Self.squares):1:flags=area,setsar=1"
    let duration = seconds.map { ["-t", "\($0)"] } ?? []
    run = try ProcessRun(
      "ffmpeg",
      [
        "-nostdin", "-hide_banner", "-loglevel", "info", "-flags",
        "low_delay",
      ]
        + ["-probesize", "65536", "-analyzeduration", "1", "-i", url] + duration
        + [
          "-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-vf", cut, "-flush_packets",
          "1", "-f", "rawvideo", "-",
        ],
      name: name, in: directory)
  }

  var isConnected: Bool { run.exitCode == nil }
  var log: String { run.errors }

  func waitForEnd(within limit: Duration) throws -> Int32 { try run.waitForEnd(within: limit) }
  func end() { run.end() }

  /// What the decoder complained about. ffmpeg says `concealing` where it made up macroblocks.
  var complaints: [String] {
    log.split(whereSeparator: \.isNewline).map(String.init).filter { line in
      ["error", "conceal", "corrupt", "invalid", "non-existing", "missing"].contains {
        line.lowercased().contains($0)
      }
    }
  }

  /// The counters of all pictures so far; nil for one that is torn or unreadable.
  var counters: [Int?] {
    let bytes = (try? readFile(run.outputPath)) ?? []
    return stride(from: 0, to: bytes.count / Self.squares * Self.squares, by: Self.squares).map {
      Self.counter(bytes[$0..<$0 + Self.squares])
    }
  }

  /// Waits for a picture whose counter is past `number`.
  @discardableResult
  func waitForCounter(past number: Int, within limit: Duration) throws -> Int {
    try waitUntil("picture after \(number)", within: limit) {
      guard isConnected else { throw ProcessFailure(description: "the player ended: \(log)") }
      guard let last = counters.last(where: { $0 != nil }), let last, last > number else {
        return nil
      }
      return last
    }
  }

  private static func counter(_ squares: ArraySlice<UInt8>) -> Int? {
    let white = Int(squares[squares.startIndex])
    let black = Int(squares[squares.startIndex + 1])
    guard white > 160, black < 96 else { return nil }
    let bits = squares.dropFirst(2).map { Int($0) > (white + black) / 2 ? 1 : 0 }
    let number = bits.prefix(16).reduce(0) { $0 << 1 | $1 }
    let check = bits.suffix(6).reduce(0) { $0 << 1 | $1 }
    return number % 61 == check ? number : nil
  }
}
