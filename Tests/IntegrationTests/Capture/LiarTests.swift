import CaptureSupport
import Foundation
import PipeWire
import Posix
import TestSupport
import Testing

@testable import CaptureAgent

/// A screen's source is another process, which may say anything at any moment, and change its size at any
/// moment. Run under the sanitizers too.
@Suite(.serialized, .timeLimit(.minutes(15))) struct LiarTests {
  /// `PORTHOLE_LIES`: for how many seconds, where a sanitizer watches.
  private static let seconds =
    ProcessInfo.processInfo.environment["PORTHOLE_LIES"].flatMap { Int($0) } ?? 5

  @Test func `a source that lies at any moment ends nothing, and its next honest picture is seen`()
    throws
  {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let screen = try DrawnScreen(on: daemon, width: 320, height: 200)
      defer { screen.end() }
      screen.change { $0.rate = 240 }
      let run = try EncodedScreen(of: daemon, width: 320, height: 200)
      try run.turn(for: .seconds(5)) { run.pictures > 3 }
      #expect(run.pictures > 3)
      screen.change { $0.lies = true }
      try run.turn(for: .seconds(Self.seconds))
      print("\(Self.seconds) s of lies: \(run)")
      #expect(run.scene.counts.rejected > 100)
      screen.change { $0.lies = false }
      let before = run.pictures
      try run.turn(for: .seconds(5)) {
        run.pictures > before + 10 && run.isOfSize(320, 200)
      }
      #expect(run.isOfSize(320, 200))
      #expect(run.scene.end == nil)
      run.scene.stop()
    }
  }

  @Test func `each size that settles is encoded, however many there were before it`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let screen = try DrawnScreen(on: daemon, width: 320, height: 200)
      defer { screen.end() }
      screen.change { $0.rate = 120 }
      let run = try EncodedScreen(of: daemon, width: 320, height: 200)
      try run.turn(for: .seconds(5)) { run.pictures > 3 }
      let sizes = [(320, 200), (640, 480), (97, 33), (176, 144), (16, 16), (1366, 768)]
      var random = SplitMix(seed: 3)
      var last = 0
      for index in 1...(Self.seconds > 5 ? 200 : 30) {
        last = (last + 1 + random.below(sizes.count - 1)) % sizes.count
        let size = sizes[last]
        screen.change { $0.size = size }
        if index % 5 > 0 {
          try run.turn(for: .milliseconds(random.below(100)))
        } else {
          try run.turn(for: .seconds(5)) { run.isOfSize(size.0, size.1) }
          #expect(run.isOfSize(size.0, size.1), "\(size)")
        }
      }
      print("a storm of sizes: \(run)")
      #expect(run.scene.end == nil && run.failures == 0)
      run.scene.stop()
    }
  }
}

/// A source's frames on their way through an encoder, on the test's thread.
private final class EncodedScreen: CustomStringConvertible {
  let scene: CaptureScene
  private(set) var pictures = 0
  /// Frames whose buffer became too short, or that the encoder has no size for.
  private(set) var failures = 0
  private var shape: FrameShape
  private let encoder: VAAPIEncoder
  private let timer: TimerSource

  init(of daemon: PipeWireDaemon, width: Int, height: Int) throws {
    scene = try CaptureScene()
    shape = FrameShape(width: width, height: height)
    encoder = try softwareEncoder(width: width, height: height)
    let loop = scene.loop
    timer = try loop.addTimer { loop.quit() }
    try scene.start(node: "drawn", of: daemon)
  }

  var description: String { "\(pictures) pictures, \(failures) that could not be, \(scene.counts)" }

  /// Whether that was the size of the last picture.
  func isOfSize(_ width: Int, _ height: Int) -> Bool {
    (shape.width, shape.height) == (width, height)
  }

  func turn(for limit: Duration, until isOver: () -> Bool = { false }) throws {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end, !isOver() {
      timer.arm(after: .milliseconds(2))
      scene.loop.run()
      if let frame = scene.slot.take() { try encode(frame) }
    }
  }

  private func encode(_ frame: consuming Frame) throws {
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
      case .frame, .unavailable: failures += 1
      default: throw error
      }
    }
  }
}
