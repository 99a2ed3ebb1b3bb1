import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// What names the size of a picture: the stream itself, and whatever it is packed into.
  @Suite struct SizeNames {
    @Test(
      arguments: [(641, 481)]
        + (isLongRun ? [(1366, 768), (1919, 1079), (650, 650), (17, 17)] : []))
    func `BL-06: stream, MP4 and what RTMP says of it name the same size`(
      _ width: Int, _ height: Int
    ) throws {
      try withTestDirectory { directory in
        let recorder = try RTMPRecorder(in: directory)
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "\(width)x\(height)"],
          relay: ["--push", "rtmp://127.0.0.1:\(recorder.port)/live/size"])
        try broadcast.waitUntilLive()
        // An odd size grows by the column or row that H.264 cannot leave out.
        let wanted = [(width + 1) & ~1, (height + 1) & ~1]

        // The parameter sets alone, as ffmpeg reads them: macroblocks, and what is cut off.
        let file = directory.file("picture.h264")
        var run = try ProcessRun.run(
          "ffmpeg",
          ["-nostdin", "-v", "error", "-analyzeduration", "1", "-i", broadcast.liveTS]
            + ["-frames:v", "1", "-c", "copy", "-f", "h264", file], in: directory)
        #expect(run.exitCode == 0, "\(run.errors)")
        run = try ProcessRun.run(
          "ffmpeg",
          ["-nostdin", "-i", file, "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"],
          name: "headers", in: directory)
        func field(_ name: String) -> Int? {
          run.errors.split(separator: "\n").first { $0.contains(" \(name) ") }?
            .split(separator: " ").last.flatMap { Int($0) }
        }
        let coded = [field("pic_width_in_mbs_minus1"), field("pic_height_in_map_units_minus1")]
        let cut = [field("frame_crop_right_offset"), field("frame_crop_bottom_offset")]
        let shown = zip(coded, cut).map { ($0 ?? -1) * 16 + 16 - 2 * ($1 ?? 0) }
        #expect(shown == wanted)

        // Both places of an MP4's head, as they lie there.
        let head = directory.file("head.mp4")
        _ = try ProcessRun.run(
          "curl", ["-s", "-m", "2", "-o", head, "\(broadcast.page)/live.mp4"], in: directory)
        let movie = try readFile(head)
        #expect(movie.size(in: "tkhd", at: 80, bytes: 4)?.map { $0 >> 16 } == wanted)
        #expect(movie.size(in: "avc1", at: 28, bytes: 2) == wanted)

        let told = try waitUntil("metadata", within: .seconds(15)) { recorder.size }
        #expect(told == wanted)
      }
    }
  }
}

/// ffmpeg as a server of RTMP that writes down what it is told.
private final class RTMPRecorder {
  let port = freePort()
  private let file: String
  private let run: ProcessRun

  init(in directory: TestDirectory) throws {
    file = directory.file("size.flv")
    run = try ProcessRun(
      "ffmpeg",
      ["-nostdin", "-v", "error", "-listen", "1", "-f", "data"]
        + ["-i", "rtmp://127.0.0.1:\(port)/live/size", "-map", "0", "-c", "copy"]
        + ["-flush_packets", "1", "-f", "data", file], name: "recorder", in: directory)
  }

  /// What the publisher's onMetaData says; nil before it has come.
  var size: [Int]? {
    guard let bytes = try? readFile(file) else { return nil }
    let numbers = ["width", "height"].map { bytes.number(named: $0) }
    guard let width = numbers[0], let height = numbers[1] else { return nil }
    return [Int(width), Int(height)]
  }
}

extension [UInt8] {
  /// Two numbers one behind the other, so far behind a box's name.
  fileprivate func size(in box: String, at offset: Int, bytes: Int) -> [Int]? {
    guard let name = firstRange(of: Array(box.utf8)) else { return nil }
    return (0..<2).map { index in
      self[(name.upperBound - 4 + offset + index * bytes)...].prefix(bytes)
        .reduce(0) { $0 << 8 | Int($1) }
    }
  }

  /// A number of AMF's: its name, a zero, eight bytes.
  fileprivate func number(named name: String) -> Double? {
    guard let found = firstRange(of: [0, UInt8(name.utf8.count)] + Array(name.utf8)),
      count >= found.upperBound + 9, self[found.upperBound] == 0
    else { return nil }
    return Double(
      bitPattern: self[(found.upperBound + 1)...].prefix(8).reduce(UInt64(0)) {
        $0 << 8 | UInt64($1)
      })
  }
}
