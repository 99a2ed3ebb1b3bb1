import Foundation
package import PipeWire
internal import Posix
import Synchronization

/// A camera of the test's: one painted picture, or JPEGs by turns, 30 times a second, in memory that anyone can
/// map. Gone with the value; its loop has a thread of its own.
package final class PaintedCamera: @unchecked Sendable {
  private let isOver = Mutex(false)
  private let isHeld = Mutex(false)
  private let jpegs = Mutex<[[UInt8]]>([])
  private let hasEnded = DispatchSemaphore(value: 0)

  /// `runtimeDirectory` is that of the PipeWire daemon. It shows `picture`, painted in NV12 of this matrix and range,
  /// which it says.
  package convenience init(
    _ name: String, in runtimeDirectory: String, width: Int, height: Int,
    picture: PaintedPicture, colour: SampleColour = SampleColour()
  ) {
    self.init(
      name, in: runtimeDirectory, width: width, height: height, format: .nv12, colour: colour
    ) { _ in .init(painted: picture) }
  }

  /// One that gives these bytes in the place of JPEGs, one after the other and again.
  package convenience init(
    _ name: String, in runtimeDirectory: String, width: Int, height: Int, jpegs: [[UInt8]]
  ) {
    self.init(name, in: runtimeDirectory, width: width, height: height, format: .mjpeg) { camera in
      camera.jpegs.withLock { jpegs in
        var picture = ScreenProducer.Picture()
        picture.coded = jpegs.removeFirst()
        jpegs.append(picture.coded!)
        return picture
      }
    }
    give(jpegs)
  }

  private init(
    _ name: String, in runtimeDirectory: String, width: Int, height: Int, format: PixelFormat,
    colour: SampleColour = SampleColour(),
    picture: @escaping @Sendable (PaintedCamera) -> ScreenProducer.Picture
  ) {
    let thread = Thread { [self] in
      defer { hasEnded.signal() }
      do {
        let loop = try Loop()
        var offer = ScreenProducer.Offer()
        offer.format = format
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
            producer?.present(picture(self))
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

  /// Gives these from now on.
  package func give(_ jpegs: [[UInt8]]) { self.jpegs.withLock { $0 = jpegs } }

  /// Takes the camera away.
  package func end() {
    isOver.withLock { $0 = true }
    hasEnded.wait()
    hasEnded.signal()
  }

  deinit { isOver.withLock { $0 = true } }
}
