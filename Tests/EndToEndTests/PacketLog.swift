import Foundation
import Posix
import Synchronization
import TestSupport
import Wire

/// A program at the consumer port, on a thread of its own: what came, and when.
final class PacketLog: Sendable {
  struct Packet: Sendable {
    /// Nanoseconds of CLOCK_MONOTONIC, of this machine.
    let arrival: Int64
    let pts: Int64
    let isKeyframe: Bool
    /// The picture before it, sent again.
    let isUnchanged: Bool
    let byteCount: Int
  }
  struct Description: Sendable {
    let arrival: Int64
    let width: Int
    let height: Int
  }

  /// How the screen stands, as the agent says.
  struct Word: Sendable {
    let arrival: Int64
    let state: SoundState
    let text: String
  }

  private struct State {
    var packets: [Packet] = []
    var descriptions: [Description] = []
    var words: [Word] = []
    var end: String?
  }
  private let state = Mutex(State())

  init(_ address: SocketAddress) throws {
    nonisolated(unsafe) let peer = try ScriptedPeer.consumer(of: address)
    Thread.detachNewThread { [self] in
      do {
        while let raw = try peer.receive(within: .seconds(30)) { note(raw) }
        state.withLock { $0.end = "the connection is closed" }
      } catch {
        state.withLock { $0.end = "\(error)" }
      }
    }
  }

  /// Of pictures, in the order that they came.
  var packets: [Packet] { state.withLock { $0.packets } }
  var descriptions: [Description] { state.withLock { $0.descriptions } }
  var words: [Word] { state.withLock { $0.words } }
  /// Why nothing more comes; nil while the connection stands.
  var end: String? { state.withLock { $0.end } }

  private func note(_ raw: RawMessage) {
    let now = MonotonicClock.now()
    switch raw.header.kind {
    case .packet where raw.header.stream == 1:
      let packet = Packet(
        arrival: now, pts: raw.header.pts, isKeyframe: raw.header.flags.contains(.keyframe),
        isUnchanged: raw.header.flags.contains(.unchanged), byteCount: raw.payload.count)
      state.withLock { $0.packets.append(packet) }
    case .streamDescription:
      guard case .streamDescription(1, let description)? = try? Message(raw) else { return }
      let size = description.displaySize
      state.withLock {
        $0.descriptions.append(
          Description(arrival: now, width: Int(size.width), height: Int(size.height)))
      }
    case .soundState:
      guard case .soundState(.screen, let state, let text)? = try? Message(raw) else { return }
      self.state.withLock { $0.words.append(Word(arrival: now, state: state, text: text)) }
    default: break
    }
  }
}
