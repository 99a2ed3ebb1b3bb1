import Foundation
package import PipeWire
internal import Posix
import Synchronization

/// A camera of the test's: one painted picture, 30 times a second, in memory that anyone can map. Gone with
/// the value; its loop has a thread of its own.
package final class PaintedCamera: @unchecked Sendable {
  private let isOver = Mutex(false)
  private let isHeld = Mutex(false)
  private let hasEnded = DispatchSemaphore(value: 0)

  /// `runtimeDirectory` is that of the PipeWire daemon. It shows `picture`, painted in NV12 of this matrix and range,
  /// which it says.
  package init(
    _ name: String, in runtimeDirectory: String, width: Int, height: Int,
    picture: PaintedPicture, colour: SampleColour = SampleColour()
  ) {
    let thread = Thread { [self] in
      defer { hasEnded.signal() }
      do {
        let loop = try Loop()
        var offer = ScreenProducer.Offer()
        offer.format = .nv12
        offer.colour = colour
        var producer: ScreenProducer? = try ScreenProducer(
          loop: loop, remote: connectToPipeWire(at: "\(runtimeDirectory)/pipewire-0"), name: name,
          role: "Camera", width: width, height: height, offer: offer)
        let timer = try loop.addTimer { [unowned self] in
          // A turn of the loop after its end, what the producer leaves is let go.
          if producer == nil { return loop.quit() }
          if isOver.withLock({ $0 }) {
            producer = nil
          } else if !isHeld.withLock({ $0 }) {
            producer?.present(.init(painted: picture))
          }
        }
        timer.arm(after: .milliseconds(33), every: .milliseconds(33))
        loop.run()
      } catch {
        print("camera \(name): \(error)")
      }
    }
    thread.start()
  }

  /// Gives no pictures, or gives some again.
  package func hold(_ isHeld: Bool) { self.isHeld.withLock { $0 = isHeld } }

  /// Takes the camera away.
  package func end() {
    isOver.withLock { $0 = true }
    hasEnded.wait()
    hasEnded.signal()
  }

  deinit { isOver.withLock { $0 = true } }
}
