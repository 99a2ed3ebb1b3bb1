import PipeWire
import Posix
import Report
import Wire

/// A camera: by the desktop's Camera portal where there is one, by PipeWire otherwise.
final class CameraSource: ScreenSource {
  // A camera that streams gives pictures all the time; one that gives none has stalled.
  private static let silence = Duration.seconds(3)

  private let loop: Loop
  private let slot: FrameSlot
  private let wish: CameraWish
  private let onEvent: (SourceEvent) -> Void
  private var mailbox: EventMailbox?
  private var portal: CameraPortal?
  private var stream: PipeWireSource?
  private var watch: TimerSource?
  private var pictureCount = 0
  private var attemptCount = 1
  private var decoding = (decoded: 0, refused: 0)

  init(
    loop: Loop, slot: FrameSlot, wish: CameraWish, onEvent: @escaping (SourceEvent) -> Void
  ) {
    self.loop = loop
    self.slot = slot
    self.wish = wish
    self.onEvent = onEvent
  }

  deinit { stop() }

  var isAlive: Bool { portal != nil || stream?.isAlive == true }

  var counts: FrameCounts { stream?.counts ?? FrameCounts() }

  func start() {
    do {
      mailbox = try EventMailbox(loop: loop) { [weak self] in self?.deliver($0) }
    } catch {
      return onEvent(.ended(SourceEnd(code: .bug, text: "the loop: \(error)")))
    }
    let portal = CameraPortal(loop: loop) { [unowned self] answer in
      switch consume answer {
      case .granted(let fd): capture(fd)
      case .absent: capture(nil)
      case .ended(let end): mailbox?.post(.ended(end))
      }
    }
    self.portal = portal
    portal.start()
  }

  func stop() {
    mailbox?.close()
    mailbox = nil
    watch = nil
    stream?.stop()
    portal?.close()
    portal = nil
  }

  /// `remote` is the portal's connection to PipeWire; nil takes the user's own.
  private func capture(_ remote: consuming OwnedFD?) {
    let stream = PipeWireSource(
      loop: loop, slot: slot, target: .camera(wish), remote: remote,
      frameRate: wish.framesPerSecond
    ) { [unowned self] event in deliver(event) }
    self.stream = stream
    stream.start()
  }

  private func deliver(_ event: SourceEvent) {
    switch event {
    case .format: watchPictures()
    case .placed, .suspended, .broken: break
    case .ended: stop()
    }
    onEvent(event)
  }

  private func watchPictures() {
    guard watch == nil else { return }
    watch = try? loop.addTimer { [unowned self] in lookAtPictures() }
    watch?.arm(after: Self.silence, every: Self.silence)
  }

  private func lookAtPictures() {
    let attempts = stream?.attemptCount ?? 0
    defer { attemptCount = attempts }
    // Another way of the camera's was just asked for.
    guard attempts == attemptCount else { return }
    let count = counts.taken + counts.replaced + counts.rejected
    let now = slot.decoding
    let before = (pictureCount, decoding)
    (pictureCount, decoding) = (count, now)
    if count == before.0 {
      end("the camera gives no pictures")
    } else if now.decoded == before.1.decoded, now.refused > before.1.refused {
      end("the camera gives no pictures that can be decoded")
    }
  }

  private func end(_ text: String) {
    mailbox?.post(.ended(SourceEnd(code: .unavailable, text: text, word: .sourceEnded)))
  }
}
