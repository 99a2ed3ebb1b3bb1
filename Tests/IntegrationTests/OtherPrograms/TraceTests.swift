import Foundation
import PipeWire
import TestSupport
import Testing

@testable import CaptureAgent

/// What our encoder tells a driver beside what ffmpeg tells it for the same settings: a field that
/// differs stands in a table of docs/encoder.md with its reason, and the table holds no other.
@Suite(.serialized)
struct TraceTests {
  @Test("our encoder and ffmpeg tell a driver the same, but for what the documentation explains")
  func fields() async {
    // libva looks for its variables in the environment of the process.
    await #expect(processExitsWith: .success) {
      try withTestDirectory { directory in
        setenv("LIBVA_TRACE", directory.file("ours"), 1)
        setenv("LIBVA_TRACE_BUFDATA", "1", 1)
        try Self.encode()
        let desk = try DriverDesk(in: directory)
        try desk.run(
          "ffmpeg", Self.ffmpeg + ["-y", directory.file("out.h264")],
          environment: ["LIBVA_TRACE": directory.file("theirs")])
        let ours = try LibvaTrace.read(prefix: "ours", in: directory)
        let theirs = try LibvaTrace.read(prefix: "theirs", in: directory)
        try #require(ours.pictures.count == 3 && theirs.pictures.count == 3)
        let found = Self.differences(ours, theirs)
        let explained = try Self.explained()
        let unexplained = found.subtracting(explained).sorted()
        let gone = explained.subtracting(found).sorted()
        // As text, for a process's end tells no values.
        #expect(unexplained == [], "differences without a reason: \(unexplained)")
        #expect(gone == [], "reasons without a difference: \(gone)")
      }
    }
  }

  /// Three pictures of our encoder, the first a keyframe.
  private static func encode() throws {
    let frames = try DrawnFrames(width: 320, height: 180)
    var configuration = EncoderConfiguration(
      width: 320, height: 180, bitsPerSecond: 500_000, display: .none, driverFolder: builtProducts)
    configuration.profile = .constrainedBaseline
    configuration.framesPerSecond = 15
    let encoder = try VAAPIEncoder(configuration: configuration)
    for number in 0..<3 {
      frames.draw { x, y in color(x, y, number) }
      try encoder.load(frames.frame())
      _ = try encoder.encode(keyframe: false, pts: Int64(number))
    }
  }

  /// The same settings.
  private static let ffmpeg = [
    "-nostdin", "-hide_banner", "-v", "warning", "-init_hw_device",
    "vaapi=va:,connection_type=x11", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=15", "-frames:v",
    "3", "-vf", "format=nv12,hwupload", "-c:v", "h264_vaapi", "-bf", "0", "-g", "65535", "-sei",
    "0", "-profile:v", "constrained_baseline", "-rc_mode", "CBR", "-b:v", "500k",
  ]

  /// Fields that differ in any picture, as `structure.field: theirs / ours` of the first such.
  private static func differences(_ ours: LibvaTrace, _ theirs: LibvaTrace) -> Set<String> {
    // Names of objects, lengths, and the flags once more as one number.
    let ids = ["picture_id", "coded_buf", "bit_length", "pic_fields"]
    var found: [String: String] = [:]
    for (our, their) in zip(ours.pictures, theirs.pictures) {
      for field in Set(our.keys).union(their.keys) where found[field] == nil {
        guard our[field] != their[field], !ids.contains(where: field.hasSuffix) else { continue }
        found[field] = "\(field): \(their[field] ?? "-") / \(our[field] ?? "-")"
      }
    }
    return Set(found.values)
  }

  /// The rows of the documentation's table: structure, field, ffmpeg, Porthole, why.
  private static func explained() throws -> Set<String> {
    let rows = try Document("encoder.md").text.split(separator: "\n").filter {
      $0.hasPrefix("| `VAEnc")
    }
    return Set(
      rows.map { row in
        let cells = row.split(separator: "|").map {
          $0.trimmingCharacters(in: CharacterSet(charactersIn: " `"))
        }
        return "\(cells[0]): \(cells[1]) / \(cells[2])"
      })
  }
}
