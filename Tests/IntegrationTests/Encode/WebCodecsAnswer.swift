import Foundation
import TestSupport

/// What Chromium's WebCodecs makes of a keyframe: a program of its own, for it is a browser.
struct WebCodecsAnswer: Decodable {
  struct Color: Decodable {
    let fullRange: Bool
    let matrix: String
  }

  let error: String?
  let width: Int?
  let height: Int?
  let color: Color?
  /// Red, green and blue at each spot.
  let spots: [[Int]]?

  private struct Job: Encodable {
    let codec: String
    let file: String
    let spots: [[Int]]
  }

  /// The answers to keyframes with their codec strings, in order.
  static func all(
    of keyframes: [(codec: String, unit: [UInt8], spots: [(x: Int, y: Int)])]
  ) throws -> [WebCodecsAnswer] {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "porthole-webcodecs-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let jobs = try keyframes.enumerated().map { number, keyframe in
      let file = folder.appending(path: "\(number).h264")
      try Data(keyframe.unit).write(to: file)
      return Job(
        codec: keyframe.codec, file: file.path, spots: keyframe.spots.map { [$0.x, $0.y] })
    }
    let input = folder.appending(path: "jobs")
    try JSONEncoder().encode(jobs).write(to: input)
    let script = Process()
    script.executableURL = URL(fileURLWithPath: packageRoot + "/scripts/webcodecs/decode.py")
    script.standardInput = try FileHandle(forReadingFrom: input)
    let output = Pipe()
    script.standardOutput = output
    try script.run()
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    script.waitUntilExit()
    return try JSONDecoder().decode([WebCodecsAnswer].self, from: answer)
  }
}
