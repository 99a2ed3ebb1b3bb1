import Glibc
import PipeWire
import Posix
import Report
import Wire

/// The screen that the user picks in the desktop's own dialog.
final class PortalSource: ScreenSource {
  // Between the stream's end and the session's: xdg-desktop-portal-wlr 0.7.0 crashes when a session
  // ends under a running stream, and learns of the stream's end from another process.
  private static let settleTime = Duration.milliseconds(50)

  // Where the permission is taken back the node's end may be known before the session's, which comes
  // by another way.
  private static let farewellTime = Duration.milliseconds(250)

  private let loop: Loop
  private let slot: FrameSlot
  private let wishes: ScreenCastPortal.Wishes
  private let frameRate: Int
  private let modifiers: [UInt64]
  private let onEvent: (SourceEvent) -> Void
  private var mailbox: EventMailbox?
  private var portal: ScreenCastPortal?
  private var stream: PipeWireSource?
  private var streamEnd: SourceEnd?
  private var farewell: TimerSource?

  init(
    loop: Loop, slot: FrameSlot, wishes: ScreenCastPortal.Wishes, frameRate: Int,
    modifiers: [UInt64] = [], onEvent: @escaping (SourceEvent) -> Void
  ) {
    self.loop = loop
    self.slot = slot
    self.wishes = wishes
    self.frameRate = frameRate
    self.modifiers = modifiers
    self.onEvent = onEvent
  }

  deinit { stop() }

  var isAlive: Bool { portal != nil }

  var counts: FrameCounts { stream?.counts ?? FrameCounts() }

  func start() {
    do {
      mailbox = try EventMailbox(loop: loop) { [weak self] in self?.deliver($0) }
      farewell = try loop.addTimer { [unowned self] in
        if let streamEnd { mailbox?.post(.ended(explain(streamEnd))) }
      }
    } catch {
      return onEvent(.ended(SourceEnd(code: .bug, text: "the loop: \(error)")))
    }
    // A portal without PipeWire behind it asks the user, and then says nothing for ever.
    do { _ = try Connection(loop: loop) } catch {
      return deliver(.ended(.withoutPipeWire(error)))
    }
    let portal = ScreenCastPortal(
      loop: loop, wishes: wishes, onGrant: { [unowned self] grant in capture(grant) },
      onEnd: { [unowned self] end in mailbox?.post(.ended(end)) })
    self.portal = portal
    portal.start()
  }

  func stop() {
    mailbox?.close()
    mailbox = nil
    farewell = nil
    if let stream, portal != nil {
      stream.stop()
      var settle = timespec(tv_sec: 0, tv_nsec: Int(Self.settleTime.nanoseconds))
      unsafe nanosleep(&settle, nil)
    }
    portal?.close()
    portal = nil
  }

  func drop(_ choice: DMABufChoice?) { stream?.drop(choice) }

  private func capture(_ grant: consuming ScreenCastPortal.Grant) {
    let (node, hasCursor) = (grant.node, grant.hasCursor)
    let stream = PipeWireSource(
      loop: loop, slot: slot, target: .granted(node), remote: grant.remote, frameRate: frameRate,
      modifiers: modifiers, asksForCursor: hasCursor
    ) { [unowned self] event in
      guard case .ended(let end) = event else { return deliver(event) }
      streamEnd = end
      farewell?.arm(after: Self.farewellTime)
    }
    self.stream = stream
    if let place = node.place { mailbox?.post(.placed(place)) }
    stream.start()
  }

  /// A backend that died took its nodes with it; the bus tells of it by another way than PipeWire.
  private func explain(_ end: SourceEnd) -> SourceEnd {
    guard end.word == .sourceEnded, portal?.hasLostBackend == true else { return end }
    return SourceEnd(code: end.code, text: "the desktop's portal backend died: \(end.text)")
  }

  private func deliver(_ event: SourceEvent) {
    if case .ended = event { stop() }
    onEvent(event)
  }
}
