import Foundation
import PipeWire
import Pixels

@testable import CaptureAgent

/// Eight patches of flat colour, no two alike: whatever way it is turned, it is seen.
struct TestCard {
  let width: Int
  let height: Int

  static let columns = 4
  static let rows = 2
  /// 0xRRGGBB: black, white, greys 16, 128 and 235, red, green, blue.
  static let patches: [UInt32] = [
    0x000000, 0xffffff, 0x101010, 0x808080, 0xebebeb, 0xff0000, 0x00ff00, 0x0000ff,
  ]

  /// The upright card.
  func color(_ x: Int, _ y: Int) -> UInt32 {
    let column = min(x * Self.columns / width, Self.columns - 1)
    let row = min(y * Self.rows / height, Self.rows - 1)
    return Self.patches[row * Self.columns + column]
  }

  /// The card as a producer draws it that says `transformation`: mirrored left to right from 4 on, then
  /// turned counter-clockwise.
  func made(_ transformation: UInt32) -> (width: Int, height: Int, color: (Int, Int) -> UInt32) {
    let turns = transformation & 3
    let isMirrored = transformation >= 4
    let (madeWidth, madeHeight) = turns & 1 == 1 ? (height, width) : (width, height)
    return (
      madeWidth, madeHeight,
      { x, y in
        // Back from the turned pixel to the one that it was.
        let (across, down) =
          switch turns {
          case 1: (width - 1 - y, x)
          case 2: (width - 1 - x, height - 1 - y)
          case 3: (y, height - 1 - x)
          default: (x, y)
          }
        return color(isMirrored ? width - 1 - across : across, down)
      }
    )
  }

  /// The same in memory, and what the producer says of it.
  func drawn(_ transformation: UInt32) throws -> (frames: DrawnFrames, shape: FrameShape) {
    let made = made(transformation)
    let frames = try DrawnFrames(width: made.width, height: made.height)
    frames.drawGrid(made.color)
    let shape = FrameShape(
      width: made.width, height: made.height, orientation: Orientation(undoing: transformation))
    return (frames, shape)
  }

  /// Where a picture of this size is looked at: the middle of each patch, and each patch's part of the
  /// picture's edge, but for what lies near another patch.
  func spots(margin: Int) -> [(x: Int, y: Int)] {
    func stops(_ side: Int, _ parts: Int) -> [Int] {
      (0..<parts).flatMap { part in
        let from = side * part / parts
        let to = side * (part + 1) / parts
        return [
          from == 0 ? 0 : from + margin, (from + to) / 2, to == side ? side - 1 : to - 1 - margin,
        ]
      }
    }
    return stops(width, Self.columns).flatMap { x in stops(height, Self.rows).map { (x, $0) } }
  }
}

/// What other programs make of a stream of ours.
struct SecondOpinion {
  /// RGB, three bytes a pixel, by the colours that the stream says, one picture behind the other.
  let pixels: [UInt8]
  let pictureCount: Int
  let width: Int
  let height: Int
  /// What ffprobe says, by its own names.
  let properties: [String: String]
  /// The size that an MP4 made of it has.
  let containerSize: String
  let log: String

  /// Of the first pictures.
  init(_ annexB: [UInt8], pictures pictureCount: Int = 1) throws {
    self.pictureCount = pictureCount
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("porthole-opinion-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appendingPathComponent("in.h264").path
    let mp4 = folder.appendingPathComponent("out.mp4").path
    let raw = folder.appendingPathComponent("out.rgb")
    try Data(annexB).write(to: URL(fileURLWithPath: input))
    log = try run(
      "ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-err_detect", "explode", "-f", "h264",
      "-i", input, "-fps_mode", "passthrough", "-frames:v", "\(pictureCount)", "-sws_flags",
      "accurate_rnd+full_chroma_int+bilinear",
      "-pix_fmt", "rgb24", "-f", "rawvideo", raw.path, "-c", "copy", mp4)
    func probe(_ file: String) throws -> [String: String] {
      let text = try run(
        "ffprobe", "-v", "error", "-show_entries",
        "stream=profile,width,height,color_range,color_space,color_transfer,color_primaries",
        "-of", "default=noprint_wrappers=1", file)
      let pairs = text.split(separator: "\n").compactMap { line -> (String, String)? in
        let parts = line.split(separator: "=", maxSplits: 1)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
      }
      return Dictionary(pairs) { $1 }
    }
    properties = try probe(input)
    let container = try probe(mp4)
    containerSize = "\(container["width"] ?? "?")x\(container["height"] ?? "?")"
    width = Int(properties["width"] ?? "") ?? 0
    height = Int(properties["height"] ?? "") ?? 0
    pixels = [UInt8]((try? Data(contentsOf: raw)) ?? Data())
  }

  var isWhole: Bool { width > 0 && pixels.count == pictureCount * width * height * 3 }

  /// How far the pixel is from 0xRRGGBB, by its worst channel.
  func distance(x: Int, y: Int, from color: UInt32, picture: Int = 0) -> Int {
    let start = ((picture * height + y) * width + x) * 3
    return (0..<3).reduce(0) { worst, channel in
      max(worst, abs(Int(pixels[start + channel]) - Int(color >> UInt32(16 - 8 * channel) & 0xff)))
    }
  }
}

/// What a program says on both of its outputs.
private func run(_ program: String, _ arguments: String...) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [program] + arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  process.standardError = pipe
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return String(decoding: data, as: UTF8.self)
}
