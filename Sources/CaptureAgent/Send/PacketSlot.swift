import PipeWire
import Synchronization
import Wire

/// An access unit with what the wire says about it.
struct OutgoingPacket {
  let unit: AccessUnit
  /// The picture is the one before it, sent again.
  let isUnchanged: Bool
  /// Goes before the packet: the first of a link, and any after a change.
  let description: StreamDescription?

  var flags: MessageFlags {
    var flags: MessageFlags = []
    if unit.isKeyframe { flags.insert(.keyframe) }
    if isUnchanged { flags.insert(.unchanged) }
    return flags
  }
}

/// The one packet between the encoder's thread, which puts, and the loop, which sends.
///
/// Its bytes stay in the coded buffer until the socket took them, so nothing is copied and nothing
/// is queued: while it is out, the frame slot replaces raw frames, and nothing encoded is ever
/// dropped on the link.
final class PacketSlot: Sendable {
  private enum State {
    case free
    case full(OutgoingPacket)
    case onItsWay
  }

  /// Unchecked: a packet's pointers are good until the encoder's next call, which waits for `free`.
  private struct Guarded: @unchecked Sendable {
    var state = State.free
    var awaitsDescription = false
  }

  private let guarded = Mutex(Guarded())
  private let filled: EventSource
  private let freed: @Sendable () -> Void

  /// `filled` is signalled on each put; `freed` is called on the loop's thread at each end.
  init(filled: EventSource, freed: @escaping @Sendable () -> Void) {
    self.filled = filled
    self.freed = freed
  }

  /// Whether the encoder may make another access unit.
  var isFree: Bool {
    guarded.withLock { if case .free = $0.state { true } else { false } }
  }

  /// By the encoder's thread, only while the slot is free.
  func put(_ packet: OutgoingPacket) {
    let wrapped = Guarded(state: .full(packet))
    guarded.withLock { guarded in
      guard case .free = guarded.state else { preconditionFailure("the slot holds one packet") }
      guarded.state = wrapped.state
    }
    filled.signal()
  }

  /// By the loop: takes the packet that waits; its bytes are good until `free`.
  func next() -> OutgoingPacket? {
    let taken = guarded.withLock { guarded -> Guarded in
      defer { if case .full = guarded.state { guarded.state = .onItsWay } }
      return guarded
    }
    guard case .full(let packet) = taken.state else { return nil }
    if taken.awaitsDescription {
      guard packet.description != nil else {
        free()
        return nil
      }
      guarded.withLock { $0.awaitsDescription = false }
    }
    return packet
  }

  /// By the loop: a link or the end of a pause begins with a description; a picture that was made for
  /// what was before is not sent.
  func restart() {
    guarded.withLock { $0.awaitsDescription = true }
  }

  /// By the loop: the packet was sent, or its link is gone.
  func free() {
    guarded.withLock { $0.state = .free }
    freed()
  }
}
