import Foundation
import TestSupport
import Testing

@testable import HostRelay

/// Fragmented MP4, as `/live.mp4` and a page without WebCodecs get it.
@Suite struct FragmentTests {
  private let frame = Duration.seconds(1) / 30

  private func put(
    _ unit: (isKeyframe: Bool, bytes: [UInt8]), _ index: Int, in output: FragmentOutput
  ) {
    output.put(
      unit.bytes[...], kind: unit.isKeyframe ? .keyframe : .picture,
      pts: 7_000_000_000 + Int64(index) * 33_333_333, frame: frame, now: .now)
  }

  private func takeAll(_ reader: Reader) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    while let packet = reader.take() { pieces.append(Array(packet.bytes.bytes)) }
    return pieces
  }

  private func type(of piece: [UInt8]) -> String {
    String(decoding: piece[4..<8], as: UTF8.self)
  }

  @Test("each picture comes out at once as a fragment, behind one head, and all are decoded")
  func nothingHeldBack() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let output = FragmentOutput()
      let reader = Reader(name: "reader")
      output.stream.join(reader, now: .now)
      var file: [UInt8] = []
      for (index, unit) in video.accessUnits.enumerated() {
        put(unit, index, in: output)
        let pieces = takeAll(reader)
        #expect(pieces.map(type) == (index == 0 ? ["ftyp", "moof"] : ["moof"]))
        file += pieces.joined()
      }
      let path = directory.file("out.mp4")
      try Data(file).write(to: URL(fileURLWithPath: path))
      #expect(try SampleVideo.pictures(of: path, in: directory).count == 60)
    }
  }

  @Test("who joins late reads the head, then a keyframe and what followed it")
  func lateJoin() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let output = FragmentOutput()
      for (index, unit) in video.accessUnits.prefix(50).enumerated() {
        put(unit, index, in: output)
      }
      let reader = Reader(name: "late")
      output.stream.join(reader, now: .now)
      for (index, unit) in video.accessUnits.enumerated().dropFirst(50) {
        put(unit, index, in: output)
      }
      let path = directory.file("late.mp4")
      try Data(takeAll(reader).joined()).write(to: URL(fileURLWithPath: path))
      #expect(try SampleVideo.pictures(of: path, in: directory).count == 20)
    }
  }

  @Test("other parameter sets begin a new file, and the old one ends")
  func newFile() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let output = FragmentOutput()
      var ends = 0
      output.finished = { ends += 1 }
      let reader = Reader(name: "reader")
      output.stream.join(reader, now: .now)
      put(video.accessUnits[0], 0, in: output)
      put(video.accessUnits[20], 1, in: output)
      #expect(takeAll(reader).map(type) == ["ftyp", "moof", "moof"])
      #expect(ends == 0)
      // The level, in the third byte behind the SPS's own.
      var other = video.accessUnits[40]
      let sps = try #require(
        other.bytes.indices.dropLast(4).first { other.bytes[$0...].starts(with: [0, 0, 1, 0x67]) })
      other.bytes[sps + 6] += 1
      put(other, 2, in: output)
      #expect(ends == 1)
      #expect(takeAll(reader).map(type) == ["ftyp", "moof"])
      output.finish()
      #expect(ends == 2)
    }
  }

  @Test("what is no H.264, or has no parameter sets, is left out")
  func notH264() {
    let output = FragmentOutput()
    let reader = Reader(name: "reader")
    output.stream.join(reader, now: .now)
    for bytes in [[], [1], [0, 0, 0, 1, 0x65], [UInt8](repeating: 0xff, count: 1000)] as [[UInt8]] {
      put((true, bytes), 0, in: output)
      put((false, bytes), 1, in: output)
    }
    #expect(takeAll(reader).isEmpty)
  }
}
