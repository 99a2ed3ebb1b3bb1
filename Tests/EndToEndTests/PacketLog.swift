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

  /// How the screen or the camera beside it stands, as the agent says.
  struct Word: Sendable {
    let arrival: Int64
    let state: SourceState
    let text: String
  }

  /// Of the broadcast, with its reason.
  struct State: Equatable, Sendable {
    let state: SessionState
    let text: String
  }

  private struct Log {
    var packets: [Packet] = []
    var descriptions: [Description] = []
    var states: [State] = []
    var words: [Word] = []
    var cameraWords: [Word] = []
    var byteCount = 0
    var end: String?
  }
  private let state = Mutex(Log())

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
  /// Those that were told, in their order.
  var states: [State] { state.withLock { $0.states } }
  /// Of all that came, heartbeats included.
  var byteCount: Int { state.withLock { $0.byteCount } }
  /// Of the screen, and of the camera.
  var words: [Word] { state.withLock { $0.words } }
  var cameraWords: [Word] { state.withLock { $0.cameraWords } }
  /// Why nothing more comes; nil while the connection stands.
  var end: String? { state.withLock { $0.end } }

  /// Waits until the last that was told is this; returns the reason.
  @discardableResult
  func waitForState(_ wanted: SessionState, within limit: Duration = .seconds(10)) throws -> String
  {
    try waitUntil("state \(wanted.word)", within: limit) {
      states.last.flatMap { $0.state == wanted ? $0.text : nil }
    }
  }

  /// Waits until this was told, also if something else has been since.
  func waitForWords(_ words: String, of state: SessionState, within limit: Duration = .seconds(10))
    throws
  {
    try waitUntil(
      "\(state.word): \(words)", within: limit,
      isTrue: { states.contains { $0.state == state && $0.text == words } })
  }

  /// Waits for the packet of pictures that so many came before.
  func packet(number: Int) throws -> Packet {
    try waitUntil("packet \(number)") { packets.dropFirst(number).first }
  }

  private func note(_ raw: RawMessage) {
    let now = MonotonicClock.now()
    state.withLock { $0.byteCount += MessageHeader.byteCount + raw.payload.count }
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
    case .sessionState:
      guard case .sessionState(let told, _, _, let text)? = try? Message(raw) else { return }
      state.withLock { $0.states.append(State(state: told, text: text)) }
    case .sourceState:
      guard case .sourceState(let source, let state, let text)? = try? Message(raw) else { return }
      let word = Word(arrival: now, state: state, text: text)
      self.state.withLock {
        if source == .screen { $0.words.append(word) }
        if source == .camera { $0.cameraWords.append(word) }
      }
    default: break
    }
  }
}
