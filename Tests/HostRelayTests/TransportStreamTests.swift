import Foundation
import TestSupport
import Testing

@testable import HostRelay

/// H.264 that ffmpeg made and a demuxer of another house reads back.
struct SampleVideo {
  /// Access units with AUD, SPS and PPS in front of each keyframe.
  let accessUnits: [(isKeyframe: Bool, bytes: [UInt8])]

  /// 60 numbered pictures, a keyframe every 20.
  init(in directory: TestDirectory, size: String = "320x240") throws {
    let path = directory.file("sample.h264")
    _ = try ProcessRun.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc=size=\(size):rate=30", "-frames:v", "60",
        "-pix_fmt", "yuv420p", "-c:v", "libx264", "-profile:v", "baseline", "-tune", "zerolatency",
        "-g", "20",
        "-x264-params", "aud=1:scenecut=0:repeat-headers=1", "-f", "h264", path,
      ], in: directory)
    let bytes = try readFile(path)
    let delimiter: [UInt8] = [0, 0, 0, 1, 9]
    let starts = bytes.indices.dropLast(4).filter {
      bytes[$0 + 4] == 9 && Array(bytes[$0..<$0 + 5]) == delimiter
    }
    accessUnits = zip(starts, starts.dropFirst() + [bytes.count]).map { start, end in
      let unit = Array(bytes[start..<end])
      // A sequence parameter set stands in front of keyframes only.
      let isKeyframe = unit.indices.dropLast(3).contains {
        unit[$0] == 0 && unit[$0 + 1] == 0 && unit[$0 + 2] == 1 && unit[$0 + 3] & 31 == 7
      }
      return (isKeyframe, unit)
    }
  }
}

@Suite struct TransportStreamTests {
  private struct Muxed {
    var pieces: [(isKeyframe: Bool, bytes: [UInt8])] = []
  }

  private func mux(_ video: SampleVideo) throws -> Muxed {
    let muxer = try TransportStreamMuxer()
    var muxed = Muxed()
    for (index, unit) in video.accessUnits.enumerated() {
      let bytes = try unit.bytes.withUnsafeBytes {
        try muxer.mux($0, pts: Int64(index) * 33_333_333, isKeyframe: unit.isKeyframe)
      }
      muxed.pieces.append((unit.isKeyframe, bytes))
    }
    return muxed
  }

  /// How many pictures ffmpeg decodes of `bytes`, and what it complains of.
  private func decode(_ bytes: [UInt8], in directory: TestDirectory) throws -> (Int, String) {
    let path = directory.file("out.ts")
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let run = try ProcessRun.run(
      "ffprobe",
      [
        "-v", "warning", "-count_frames", "-select_streams", "v", "-show_entries",
        "stream=nb_read_frames", "-of", "default=nw=1:nk=1", path,
      ], in: directory)
    return (Int(run.output.split(separator: "\n").first ?? "") ?? 0, run.errors)
  }

  @Test("each access unit comes out at once, as whole TS packets")
  func nothingHeldBack() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      #expect(video.accessUnits.count == 60)
      #expect(video.accessUnits.count(where: \.isKeyframe) == 3)
      let muxed = try mux(video)
      for (unit, piece) in zip(video.accessUnits, muxed.pieces) {
        #expect(piece.bytes.count.isMultiple(of: 188))
        #expect(piece.bytes.count > unit.bytes.count)
        #expect(piece.bytes[0] == 0x47)
      }
    }
  }

  @Test("ffmpeg decodes every picture, from the start and from any keyframe")
  func decodes() throws {
    try withTestDirectory { directory in
      let pieces = try mux(SampleVideo(in: directory)).pieces
      for (index, piece) in pieces.enumerated() where piece.isKeyframe {
        let (pictures, complaints) = try decode(
          pieces[index...].flatMap(\.bytes), in: directory)
        #expect(pictures == 60 - index)
        #expect(complaints == "")
      }
    }
  }

  @Test("a PES packet says its length where 16 bits hold it")
  func packetLength() throws {
    try withTestDirectory { directory in
      let pieces = try mux(SampleVideo(in: directory)).pieces
      let picture = try #require(pieces.first { !$0.isKeyframe })
      let start = try #require(
        picture.bytes.indices.dropLast(6).first {
          picture.bytes[$0] == 0 && picture.bytes[$0 + 1] == 0 && picture.bytes[$0 + 2] == 1
            && picture.bytes[$0 + 3] == 0xe0
        })
      #expect(picture.bytes[start + 4] != 0 || picture.bytes[start + 5] != 0)
    }
  }

  @Test("bytes that are no H.264 are refused, and the next access unit is muxed all the same")
  func notH264() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let muxer = try TransportStreamMuxer()
      for bad in [[], [1], [UInt8](repeating: 0xff, count: 1000)] as [[UInt8]] {
        #expect(throws: MuxerError.self) {
          try bad.withUnsafeBytes { try muxer.mux($0, pts: 0, isKeyframe: false) }
        }
      }
      let first = try #require(video.accessUnits.first).bytes
      let bytes = try first.withUnsafeBytes { try muxer.mux($0, pts: 1, isKeyframe: true) }
      #expect(bytes.count > first.count)
    }
  }
}
