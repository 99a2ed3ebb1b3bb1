import CaptureSupport
import PipeWire
import TestSupport
import Testing

@testable import CaptureAgent

/// A camera that does not give what it offers.
@Suite(.serialized, .timeLimit(.minutes(1))) struct CameraAttemptTests {
  /// `isWithdrawn`: it no longer offers what it refuses once that is asked for.
  private func camera(
    _ format: PixelFormat, refused: PixelFormat, isWithdrawn: Bool = false,
    of daemon: PipeWireDaemon, until claim: (CaptureScene) -> Bool
  ) throws -> CaptureScene {
    let scene = try CaptureScene()
    var offer = ScreenProducer.Offer()
    (offer.format, offer.refused) = (format, refused)
    let camera = try ScreenProducer(
      loop: scene.loop, remote: daemon.connect(), name: "moody", role: "Camera", width: 320,
      height: 200, offer: offer)
    try scene.waitForNode("moody", of: daemon)
    let wish = CameraWish(
      name: "moody", size: FrameSize(320, 200), isSizeAsked: true, framesPerSecond: 30)
    scene.keepsFrame = true
    daemon.holdSessionManager(isWithdrawn)
    try scene.startAtOnce(.camera(wish), of: daemon)
    if isWithdrawn {
      try scene.run(until: "an attempt") { (scene.source as? PipeWireSource)?.attemptCount == 1 }
      try camera.withdrawRefused()
      try scene.waitForNode("moody", of: daemon)
      daemon.holdSessionManager(false)
    }
    let picture = ScreenProducer.Picture(
      painted: PaintedPicture(width: 320, height: 200) { _, _ in 0x808080 })
    let present = { _ = camera.present(picture) }
    try scene.run(until: "what is waited for", within: .seconds(20), step: present) { claim(scene) }
    return scene
  }

  @Test func `a way that is refused is followed by the next best`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try camera(.yuy2, refused: .nv12, isWithdrawn: true, of: daemon) {
        $0.kept != nil
      }
      let taken = scene.takeKept()
      guard let frame = taken else { fatalError("it was seen") }
      #expect(frame.format == .yuy2)
      #expect(scene.end == nil)
      scene.stop()
    }
  }

  @Test func `a camera that refuses all ends with one line that lists what it has`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try camera(.nv12, refused: .nv12, of: daemon) { $0.end != nil }
      #expect(scene.end?.code == .unavailable)
      let text = scene.end?.text ?? ""
      #expect(
        text.hasPrefix("the camera gives no pictures (") && text.hasSuffix("it has nv12 320x200"))
      scene.stop()
    }
  }
}
