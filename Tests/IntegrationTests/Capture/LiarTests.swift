import CaptureSupport
import Foundation
import PipeWire
import Posix
import TestSupport
import Testing

@testable import CaptureAgent

/// A screen's source is another process, and nothing that it says is believed.
@Suite(.serialized, .timeLimit(.minutes(15))) struct LiarTests {
  /// `PORTHOLE_LIES`: for how many seconds, where a sanitizer watches.
  private static let seconds =
    ProcessInfo.processInfo.environment["PORTHOLE_LIES"].flatMap { Int($0) } ?? 5

  @Test func `a source that lies at any moment ends nothing, and its next honest picture is seen`()
    throws
  {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let screen = try DrawnScreen(on: daemon, name: "liar", width: 320, height: 200)
      defer { screen.end() }
      let scene = try CaptureScene()
      try scene.start(node: "liar", of: daemon)
      screen.change { $0.rate = 240 }
      let encoder = try softwareEncoder(width: 320, height: 200)
      var shape = FrameShape(width: 320, height: 200)
      var pictures = 0
      var wrong = 0
      /// Encodes what came, as it was said to be.
      func encode(_ frame: consuming Frame) throws {
        do throws(EncoderError) {
          if frame.shape != shape {
            shape = frame.shape
            try encoder.reconfigure(for: shape, isHalved: false)
          }
          try encoder.load(frame)
          pictures += 1
          _ = try encoder.encode(keyframe: false, pts: MonotonicClock.now())
        } catch {
          switch error {
          // A buffer that became too short, and a size that the encoder has not.
          case .frame, .unavailable: wrong += 1
          default: throw error
          }
        }
      }
      let timer = try scene.loop.addTimer { scene.loop.quit() }
      func turn(until end: ContinuousClock.Instant, isOver: () -> Bool = { false }) throws {
        while ContinuousClock.now < end, !isOver() {
          timer.arm(after: .milliseconds(2))
          scene.loop.run()
          if let frame = scene.slot.take() { try encode(frame) }
        }
      }
      try turn(until: .now + .seconds(5)) { pictures > 3 }
      #expect(pictures > 3)
      screen.change { $0.lies = true }
      try turn(until: .now + .seconds(Self.seconds))
      print(
        "\(Self.seconds) s of lies: \(pictures) pictures, \(wrong) that could not be, \(scene.counts)"
      )
      #expect(scene.counts.rejected > 100)
      screen.change { $0.lies = false }
      let before = pictures
      try turn(until: .now + .seconds(5)) {
        pictures > before + 10 && (shape.width, shape.height) == (320, 200)
      }
      #expect((shape.width, shape.height) == (320, 200))
      #expect(scene.end == nil)
      scene.stop()
    }
  }
}
