import Foundation
import TestSupport

/// The first picture of a stream, as ffmpeg decodes it.
struct RGBPicture {
  let width: Int
  let height: Int
  private let pixels: [UInt8]

  init(of address: String, in directory: TestDirectory) throws {
    let file = directory.file("picture-\(UUID().uuidString).ppm")
    let run = try ProcessRun.run(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-analyzeduration", "1", "-i", address, "-frames:v", "1",
        "-sws_flags", "accurate_rnd+full_chroma_int+bilinear", "-pix_fmt", "rgb24", "-f",
        "image2pipe", "-c:v", "ppm", file,
      ], name: "picture", in: directory)
    let bytes = [UInt8]((try? Data(contentsOf: URL(fileURLWithPath: file))) ?? Data())
    // P6, width, height, 255: three lines.
    let head = bytes.prefix(32).split(separator: 10, maxSplits: 3).prefix(3)
    let numbers = head.dropFirst().prefix(1).flatMap { line in
      line.split(separator: 32).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
    guard numbers.count == 2, bytes.count >= numbers[0] * numbers[1] * 3 else {
      throw ProcessFailure(description: "no picture of \(address): \(run.errors)")
    }
    (width, height) = (numbers[0], numbers[1])
    pixels = bytes.suffix(width * height * 3)
  }

  /// How far the pixel is from 0xRRGGBB, by its worst channel.
  func distance(x: Int, y: Int, from color: UInt32) -> Int {
    let start = pixels.startIndex + (y * width + x) * 3
    return (0..<3).reduce(0) { worst, channel in
      max(worst, abs(Int(pixels[start + channel]) - Int(color >> UInt32(16 - 8 * channel) & 0xff)))
    }
  }
}
