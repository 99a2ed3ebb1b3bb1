import Bitstream
import Foundation
import TestSupport
import Testing

@testable import HostRelay

@Suite struct ContainerTests {
  private let frame = Duration.seconds(1) / 30

  @Test(
    "each picture is decoded twice and the stream of the originals is as it was",
    arguments: ["baseline", "main", "high"])
  func repeats(profile: String) throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(profile: profile, in: directory)
      let plain = directory.file("plain.h264")
      try Data(video.accessUnits.flatMap(\.bytes)).write(to: URL(fileURLWithPath: plain))
      let originals = try SampleVideo.pictures(of: plain, in: directory)
      #expect(Set(originals).count == 60)

      var repeater = PictureRepeater()
      var bytes: [UInt8] = []
      for unit in video.accessUnits {
        let pair = repeater.pair(for: unit.bytes[...])
        let repeated = try #require(pair.repeated)
        #expect(repeated.count < 32)
        bytes += pair.accessUnit + repeated
      }
      let doubled = directory.file("doubled.h264")
      try Data(bytes).write(to: URL(fileURLWithPath: doubled))
      let pictures = try SampleVideo.pictures(of: doubled, in: directory)
      #expect(pictures == originals.flatMap { [$0, $0] })
    }
  }

  @Test("the stream says the rate at which its pictures come")
  func rate() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let output = try ContainerOutput()
      var bytes: [UInt8] = []
      let reader = Reader(name: "reader")
      output.stream.join(reader, now: .now)
      for (index, unit) in video.accessUnits.enumerated() {
        output.put(
          unit.bytes[...], kind: unit.isKeyframe ? .keyframe : .picture,
          pts: 7_000_000_000 + Int64(index) * 33_333_333, frame: frame, now: .now)
        while let packet = reader.take() { bytes += Array(packet.bytes.bytes) }
      }
      let path = directory.file("out.ts")
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      #expect(try SampleVideo.pictures(of: path, in: directory).count == 120)
      let probe = try ProcessRun.run(
        "ffprobe",
        [
          "-v", "error", "-select_streams", "v", "-show_entries",
          "stream=r_frame_rate,avg_frame_rate", "-of", "default=nw=1:nk=1", path,
        ], in: directory)
      #expect(Set(probe.output.split(separator: "\n")) == ["60/1"])
    }
  }

  @Test("what is no H.264 of a known kind is passed on as it came and not repeated")
  func passesOn() {
    var repeater = PictureRepeater()
    for bytes in [
      [], [0, 0, 0, 1], [0, 0, 0, 1, 0x65, 0xff], [0, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 1, 0x65, 4],
      [UInt8](repeating: 0, count: 5000),
    ] as [[UInt8]] {
      let pair = repeater.pair(for: bytes[...])
      #expect(Array(pair.accessUnit) == bytes)
      #expect(pair.repeated == nil)
    }
  }

  @Test("mutated access units neither trap nor change what is passed on but for its parameter set")
  func mutations() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      var numbers = SplitMix(seed: 11)
      for _ in 0..<2000 {
        var repeater = PictureRepeater()
        var bytes = video.accessUnits[0].bytes
        for _ in 0...numbers.below(4) {
          bytes[numbers.below(min(bytes.count, 200))] = UInt8(numbers.below(256))
        }
        let pair = repeater.pair(for: bytes[...])
        #expect(pair.accessUnit.suffix(bytes.count - 200) == bytes.suffix(bytes.count - 200))
      }
    }
  }

  @Test("pictures lie at least their spacing apart, and their times are exact when they may be")
  func clock() {
    var clock = ContainerClock()
    let millisecond: Int64 = 1_000_000
    #expect(clock.time(of: 5000 * millisecond, spacing: frame) == 0)
    #expect(clock.time(of: 5100 * millisecond, spacing: frame) == 9000)
    #expect(clock.time(of: 5110 * millisecond, spacing: frame) == 12_000)
    #expect(clock.time(of: 5200 * millisecond, spacing: frame) == 18_000)
    #expect(clock.timeAfter(spacing: frame / 2) == 19_500)
  }

  @Test("pictures that come too fast for long are not moved further and further")
  func noDrift() {
    var clock = ContainerClock()
    var last: Int64 = -1
    for index in 0..<1000 {
      let pts = Int64(index) * 1_000_000
      let time = clock.time(of: pts, spacing: frame)
      #expect(time > last)
      #expect(time - pts * 9 / 100_000 <= 9000 + 1000)
      last = time
    }
  }
}
