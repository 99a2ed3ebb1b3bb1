import Posix
import TestSupport
import Testing
import Wire

@testable import HostRelay

/// The camera beside the screen, as readers get it.
@Suite struct CameraStreamTests {
  private let start = Moment.now

  private func kinds(_ reader: Reader) -> [Packet.Kind] {
    var kinds: [Packet.Kind] = []
    while let packet = reader.take() { kinds.append(packet.kind) }
    return kinds
  }

  @Test("who joins gets what is cached of both, and neither keyframe empties the other's cache")
  func join() {
    let stream = HostRelay.Stream()
    stream.put(packet(.keyframe), now: start)
    stream.put(packet(.cameraKeyframe), now: start)
    stream.put(packet(.picture), now: start)
    stream.put(packet(.cameraPicture), now: start)
    let reader = Reader(name: "reader")
    stream.join(reader, now: start)
    #expect(kinds(reader) == [.keyframe, .picture, .cameraKeyframe, .cameraPicture])
    stream.put(packet(.keyframe), now: start)
    let second = Reader(name: "second")
    stream.join(second, now: start)
    #expect(kinds(second) == [.keyframe, .cameraKeyframe, .cameraPicture])
  }

  @Test("a camera's picture is withheld until its keyframe, and the screen is not")
  func begins() {
    let reader = Reader(name: "reader")
    var asked = 0
    reader.needsCameraKeyframe = { asked += 1 }
    reader.put(packet(.cameraKeyframe), now: start)
    reader.put(packet(.keyframe), now: start)
    #expect(asked == 0)
    reader.put(packet(.cameraPicture), now: start)
    reader.put(packet(.cameraPicture), now: start)
    #expect(asked == 1)
    reader.put(packet(.picture), now: start)
    reader.put(packet(.cameraKeyframe), now: start)
    reader.put(packet(.cameraPicture), now: start)
    #expect(kinds(reader) == [.keyframe, .picture, .cameraKeyframe, .cameraPicture])
    #expect(reader.drops.packets == 0)
  }

  @Test("a reader that falls behind loses both until each one's keyframe, and asks for both")
  func behind() {
    let reader = Reader(name: "reader")
    var asked: [String] = []
    reader.needsKeyframe = { asked.append("screen") }
    reader.needsCameraKeyframe = { asked.append("camera") }
    reader.put(packet(.keyframe), now: start)
    reader.put(packet(.cameraKeyframe), now: start)
    let late = start + RelayLimits.softDelay
    reader.put(packet(.cameraPicture), now: late)
    reader.put(packet(.picture), now: late)
    #expect(kinds(reader) == [.keyframe, .cameraKeyframe])
    #expect(asked == ["screen", "camera"])
    #expect(reader.drops.behind == 2)
    reader.put(packet(.cameraKeyframe), now: late)
    reader.put(packet(.cameraPicture), now: late)
    reader.put(packet(.picture), now: late)
    reader.put(packet(.keyframe), now: late)
    #expect(kinds(reader) == [.cameraKeyframe, .cameraPicture, .keyframe])
  }

  private static let camera = StreamDescription(
    source: .camera, codec: .h264, codedSize: .init(width: 320, height: 240),
    displaySize: .init(width: 320, height: 240), frameRate: .init(30, 1),
    codecString: "avc1.42C00D", parameterSets: [])

  @Test("keyframes are asked for by stream, and players have /camera.ts")
  func relay() throws {
    try withRelay { relay, agent, directory in
      let video = try SampleVideo(in: directory)
      let link = try agent.begin()
      let consumer = try ScriptedPeer.consumer(of: relay.consumers)
      try consumer.receiveState(.starting)
      #expect(try relay.get("/camera.ts").contains("there is no camera"))
      // Who asks for one that is lost waits, as for a broadcast at /live.ts, until it is back.
      try link.send(.sourceState(.camera, .lost, "unplugged"))
      let patient = directory.file("patient.ts")
      let waiting = try ProcessRun(
        "curl", ["-sN", "-D", "-", "-o", patient, "http://\(relay.http)/camera.ts"],
        name: "waiting", in: directory)
      defer { waiting.end() }
      try waitUntil("its answer", isTrue: { waiting.output.contains("video/mp2t") })
      #expect((try? readFile(patient).count) ?? 0 == 0)
      try link.send(.streamDescription(stream: 2, Self.camera))
      let begin = MonotonicClock.now()
      try link.sendPacket(video.accessUnits[0].bytes, pts: begin, isKeyframe: true, stream: 2)
      // What has no picture of the screen yet is not live.
      try consumer.receive("the camera's description") { raw -> Void? in
        guard case .streamDescription(2, let said) = try Message(raw) else { return nil }
        return said.source == .camera ? () : nil
      }
      try link.sendPacket([0, 0, 0, 1, 0x65, 7], pts: begin, isKeyframe: true)
      try consumer.receiveState(.live)
      for stream in [UInt32(2), 1] {
        try consumer.send(.keyframeRequest(stream: stream))
        try link.receive("a request for stream \(stream)") { raw in
          try? Message(raw) == .keyframeRequest(stream: stream) ? () : nil
        }
        // One that comes is what the next request waits for.
        try link.sendPacket(
          video.accessUnits[0].bytes, pts: MonotonicClock.now(), isKeyframe: true, stream: stream)
      }
      let file = directory.file("camera.ts")
      let player = try ProcessRun(
        "curl", ["-sN", "-o", file, "http://\(relay.http)/camera.ts"], name: "player",
        in: directory)
      defer { player.end() }
      try link.receive("audience") { raw in
        try? Message(raw) == .audience(readers: 3, containers: 2) ? () : nil
      }
      for unit in video.accessUnits {
        try link.sendPacket(
          unit.bytes, pts: MonotonicClock.now(), isKeyframe: unit.isKeyframe, stream: 2)
        link.discardInput()
      }
      try waitUntil(
        "the player's pictures",
        isTrue: {
          (try? readFile(file).count) ?? 0 > video.accessUnits.reduce(0) { $0 + $1.bytes.count }
        })
      player.end()
      #expect(waiting.exitCode == nil)
      waiting.end()
      for file in [file, patient] {
        #expect(try SampleVideo.pictures(of: file, in: directory).count >= video.accessUnits.count)
      }
    }
  }
}
