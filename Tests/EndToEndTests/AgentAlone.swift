import Glibc
import Posix
import TestSupport
import Testing
import Wire

/// An agent by itself, with the test for a relay.
func withAgentAlone(_ body: (ProcessRun, AgentLink) throws -> Void) throws {
  try withTestDirectory { directory in
    let token = try RelayRun.token(in: directory)
    let port = freePort()
    let agent = try ProcessRun(
      program("capture-agent"),
      [
        "--listen", "127.0.0.1:\(port)", "--va-display", "none", "--source", "pattern",
        "--size", "320x240", "--fps", "60",
      ], environment: RelayRun.environment(of: directory), in: directory)
    defer { agent.end() }
    try waitUntil("the agent") { agent.errors.contains("listening on") }
    let address = SocketAddress(bytes: [127, 0, 0, 1], port: port)
    let peer = try ScriptedPeer(to: address)
    try peer.send(
      .greeting(
        Greeting(role: .relay, pid: 1, instance: 1, session: 1, epoch: 1, key: token.bytes)))
    try body(agent, AgentLink(peer: peer))
  }
}

/// What must hold of everything that an agent says.
final class AgentLink {
  let peer: ScriptedPeer
  private var packets: UInt64 = 0
  /// Of the last packet, nanoseconds.
  private(set) var pts = Int64.min
  private var isStarted = false
  private var isPaused = false
  private var isDescribed = false
  private var needsKeyframe = true

  init(peer: ScriptedPeer) { self.peer = peer }

  func takePackets(_ count: Int) throws {
    let wanted = packets + UInt64(count)
    while packets < wanted { _ = try take() }
  }

  /// The reasons of the next pause.
  func pause() throws -> PauseReasons {
    while true {
      if case .paused(let reasons) = try take() { return reasons }
    }
  }

  /// The end of the pause, and the picture behind it.
  func resume() throws {
    while isPaused { _ = try take() }
    try takePackets(1)
  }

  private func take() throws -> Message? {
    guard let raw = try peer.receive() else {
      throw ProcessFailure(description: "the link ended")
    }
    guard raw.header.kind == .packet else {
      let message = try Message(raw)
      if case .started = message { isStarted = true }
      if case .greeting = message {} else { #expect(isStarted, "\(message) came before started") }
      switch message {
      case .paused: isPaused = true
      case .resumed:
        isPaused = false
        isDescribed = false
        needsKeyframe = true
      case .streamDescription: isDescribed = true
      default: break
      }
      return message
    }
    packets += 1
    try peer.send(.acknowledgement(packets: packets))
    #expect(!isPaused && isDescribed)
    #expect(!needsKeyframe || raw.header.flags.contains(.keyframe))
    needsKeyframe = false
    #expect(raw.header.pts > pts)
    pts = raw.header.pts
    return nil
  }
}
