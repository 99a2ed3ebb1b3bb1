import Foundation
import TestSupport
import Testing

@testable import HostRelay

@Suite struct TransportStreamTests {
  private struct Muxed {
    var pieces: [(isKeyframe: Bool, bytes: [UInt8])] = []
  }

  private func mux(_ video: SampleVideo) throws -> Muxed {
    let muxer = try ContainerMuxer(.transportStream(tables: 0))
    var muxed = Muxed()
    for (index, unit) in video.accessUnits.enumerated() {
      let bytes = try muxer.mux(
        unit.bytes.span, time: Int64(index) * 3000, duration: 0, isKeyframe: unit.isKeyframe)
      muxed.pieces.append((unit.isKeyframe, bytes))
    }
    return muxed
  }

  private func decode(_ bytes: [UInt8], in directory: TestDirectory) throws -> [String] {
    let path = directory.file("out.ts")
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return try SampleVideo.pictures(of: path, in: directory)
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
        let pictures = try decode(pieces[index...].flatMap(\.bytes), in: directory)
        #expect(pictures.count == 60 - index)
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
      let muxer = try ContainerMuxer(.transportStream(tables: 0))
      for bad in [[], [1], [UInt8](repeating: 0xff, count: 1000)] as [[UInt8]] {
        #expect(throws: MuxerError.self) {
          try muxer.mux(bad.span, time: 0, duration: 0, isKeyframe: false)
        }
      }
      let first = try #require(video.accessUnits.first).bytes
      let bytes = try muxer.mux(first.span, time: 1, duration: 0, isKeyframe: true)
      #expect(bytes.count > first.count)
    }
  }
}
