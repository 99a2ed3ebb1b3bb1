import PipeWire
import Posix
import Report

/// A camera: by the desktop's Camera portal where there is one, by PipeWire otherwise.
final class CameraSource: ScreenSource {
  private let loop: Loop
  private let slot: FrameSlot
  private let wish: CameraWish
  private let onEvent: (SourceEvent) -> Void
  private var mailbox: EventMailbox?
  private var portal: CameraPortal?
  private var stream: PipeWireSource?

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
    if case .ended = event { stop() }
    onEvent(event)
  }
}
