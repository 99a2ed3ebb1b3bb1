import Foundation
import TestSupport
import Testing
import Wire

@testable import HostRelay

@Suite struct SoundTrackTests {
  private let second: Int64 = 90_000

  @Test("a track that is late by a second is given silence up to the pictures, and none before")
  func silence() {
    var tracks = SoundTracks([.appSound, .microphone])
    #expect(tracks.silence(before: 0).isEmpty)
    for time in stride(from: 0, to: second, by: 1800) {
      _ = tracks.place(of: .appSound, at: time)
      #expect(tracks.silence(before: time).isEmpty, "\(time)")
    }
    _ = tracks.place(of: .appSound, at: second)
    let places = tracks.silence(before: second)
    #expect(places.map(\.index).allSatisfy { $0 == 1 })
    #expect(places.first?.time == SoundTracks.packetTicks)
    let steps = zip(places, places.dropFirst()).map { $1.time - $0.time }
    #expect(steps.allSatisfy { $0 == SoundTracks.silenceTicks })
    let end = (places.last?.time ?? 0) + SoundTracks.silenceTicks
    #expect(end <= second && end > second - second / 4)
    // From then on at once, until the sound is back.
    _ = tracks.place(of: .appSound, at: second + 18_000)
    #expect(tracks.silence(before: second + 18_000).count >= 1)
    let back = tracks.place(of: .microphone, at: second + 36_000)
    #expect(back?.time == second + 36_000)
    _ = tracks.place(of: .appSound, at: second + 36_000)
    #expect(tracks.silence(before: second + 90_000).isEmpty)
  }

  @Test("a sound that is switched off is silence at once")
  func stopped() {
    var tracks = SoundTracks([.microphone])
    _ = tracks.place(of: .microphone, at: second)
    tracks.stop(.microphone)
    let step = SoundTracks.silenceTicks
    #expect(
      tracks.silence(before: second + second / 4).map(\.time)
        == [second + 1800, second + 1800 + step])
  }

  @Test(
    "ffmpeg decodes a track whose sound never comes, as silence that keeps up with the pictures")
  func decoded() throws {
    try withTestDirectory { directory in
      let video = try SampleVideo(in: directory)
      let output = try ContainerOutput()
      output.sounds = [.microphone]
      let reader = Reader(name: "reader")
      output.stream.join(reader, now: .now)
      var bytes: [UInt8] = []
      for index in 0..<120 {
        let unit = video.accessUnits[index % 60]
        output.put(
          unit.bytes[...], kind: unit.isKeyframe ? .keyframe : .picture,
          pts: Int64(index) * 33_333_333, frame: .seconds(1) / 30, now: .now)
        while let packet = reader.take() { bytes += Array(packet.bytes.bytes) }
      }
      let (file, decoded) = (directory.file("out.ts"), directory.file("out.f32"))
      try Data(bytes).write(to: URL(fileURLWithPath: file))
      let run = try ProcessRun.run(
        "ffmpeg",
        ["-nostdin", "-v", "warning", "-i", file, "-vn", "-ac", "1", "-f", "f32le", decoded],
        in: directory)
      #expect(run.errors.isEmpty, "\(run.errors)")
      let samples = try readFile(decoded)
      // Four seconds of pictures at 48 kHz, but for half a second.
      let count = samples.count / 4
      #expect(count > 48_000 * 7 / 2 && count <= 48_000 * 4, "\(count)")
      #expect(samples.allSatisfy { $0 == 0 })
    }
  }
}
