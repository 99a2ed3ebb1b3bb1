import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// Broadcasts that begin with a start and end with a finish, one after the other, of one relay.
  @Suite struct Life {
    @Test func `nothing runs before a start, the agent does what is set up, and is told of first`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--fps", "30"], relay: ["--setup"])
        defer { broadcast.end() }
        try waitUntil("the relay", isTrue: { broadcast.status?.text == "waiting for the start" })
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        #expect(try children(of: broadcast.relay.pid).isEmpty)
        #expect(throws: (any Error).self) { try ScriptedPeer(to: broadcast.agentAddress) }

        try broadcast.control(
          "setup", "name=the talk", "source=pattern", "size=320x240", "fps=12", "bitrate=900k")
        try broadcast.control("start")
        let first = try viewer.receive("what comes first") { raw -> Message? in
          if raw.header.kind == .packet { throw ProcessFailure(description: "a packet came first") }
          let message = try Message(raw)
          switch message {
          case .started, .streamDescription: return message
          default: return nil
          }
        }
        guard case .started(let started) = first else {
          throw ProcessFailure(description: "\(first) came before started")
        }
        #expect(started.name == "the talk" && started.source == "pattern")
        let description = try viewer.receive("description") { raw -> StreamDescription? in
          guard case .streamDescription(_, let description) = try? Message(raw) else { return nil }
          return description
        }
        #expect(description.displaySize == .init(width: 320, height: 240))
        #expect(description.frameRate == .init(12, 1))
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        try waitUntil(
          "the bit rate", isTrue: { broadcast.status?.agentFigure("bitrate") == 900_000 })

        try broadcast.control("finish", "that was it")
        try viewer.receive("the end") { raw in
          try? Message(raw) == .finished(.finished, "that was it") ? () : nil
        }
        try waitUntil("the agent's end", isTrue: { kill(agent, 0) != 0 })
        #expect(broadcast.relay.exitCode == nil)
        #expect(throws: (any Error).self) { try ScriptedPeer(to: broadcast.agentAddress) }
      }
    }

    @Test func `what was started outlives its agent and its relay, and its end leaves no agent`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, relay: ["--setup"])
        defer { broadcast.end() }
        try waitUntil("the relay", isTrue: { broadcast.status != nil })
        try broadcast.control("setup", "name=the talk", "size=320x240")
        try broadcast.control("start")
        let first = try #require(try broadcast.waitUntilLive().agentPID)
        kill(first, SIGKILL)
        let second = try waitUntil("the next agent") { () -> Broadcast.Status? in
          guard let status = broadcast.status, status.state == "live" else { return nil }
          return status.agentPID == first ? nil : status
        }
        #expect(second.agent["name"] as? String == "the talk")
        broadcast.relay.signal(SIGKILL)
        try broadcast.relay.waitForEnd()
        try broadcast.startRelayAgain()
        let third = try broadcast.waitUntilLive()
        #expect(third.agentPID == second.agentPID)
        #expect(third.json["session"] as? String == second.json["session"] as? String)
        try broadcast.control("finish")
        let agent = try #require(second.agentPID)
        try waitUntil("the agent's end", isTrue: { kill(agent, 0) != 0 })
        try waitUntil("the wait", isTrue: { broadcast.status?.text == "waiting for the start" })
        // A relay that is ended in order starts nothing by itself the next time.
        broadcast.relay.end()
        try broadcast.startRelayAgain()
        try waitUntil(
          "the next relay", isTrue: { broadcast.status?.text == "waiting for the start" })
        #expect(try children(of: broadcast.relay.pid).isEmpty)
      }
    }

    /// What an agent is refused for reads whoever started it, and the next start may do better.
    @Test func `an agent that cannot do what is set up leaves the relay waiting`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, relay: ["--setup"])
        defer { broadcast.end() }
        try waitUntil("the relay", isTrue: { broadcast.status != nil })
        try broadcast.control("setup", "size=16384x16384")
        try broadcast.control("start")
        try waitUntil("the refusal") {
          try #require(broadcast.relay.exitCode == nil)
          return broadcast.status?.text.contains("memory") == true ? () : nil
        }
        try broadcast.control("cancel")
        try waitUntil("the wait", isTrue: { broadcast.status?.text == "cancelled" })
        #expect(try children(of: broadcast.relay.pid).isEmpty)
        // A cancelled agent that had ended already was waited for: the next one was ended in its place.
        try broadcast.control("setup", "size=320x240")
        try broadcast.control("start")
        let agent = try broadcast.waitUntilLive().agentPID
        let late = ContinuousClock.now + .seconds(4)
        try waitUntil("four seconds", isTrue: { ContinuousClock.now > late })
        #expect(broadcast.agentPID == agent && broadcast.status?.state == "live")
      }
    }

    @Test
    func `an agent is told to finish for a reason, or for none; one that is no text ends a link`()
      throws
    {
      for (reason, said) in [("", "ended by the relay"), ("that was it", "that was it")] {
        try withAgentAlone { agent, link in
          try link.takePackets(1)
          try link.peer.send(.finish(reason))
          try link.peer.receive("its answer") {
            try? Message($0) == .finished(.finished, said) ? () : nil
          }
          #expect(try agent.waitForEnd() == 0)
        }
      }
      try withAgentAlone { agent, link in
        try link.takePackets(1)
        var bytes = [UInt8](repeating: 0, count: MessageHeader.byteCount)
        var span = bytes.mutableSpan
        MessageHeader(kind: .finish, length: 65_537).write(to: &span)
        try link.peer.send(bytes + [255, 255] + [UInt8](repeating: 97, count: 65_535))
        try link.peer.receive("the refusal") { raw -> Void? in
          guard case .refusal(.protocolError, _) = try? Message(raw) else { return nil }
          return ()
        }
        #expect(try link.peer.isCut(within: .seconds(5)))
        #expect(agent.exitCode == nil)
      }
    }

    @Test func `rounds of start, pause, resume and finish at random moments leave nothing behind`()
      throws
    {
      let rounds = isLongRun ? 200 : 10
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        try desktop.show("window=counter")
        let broadcast = try Broadcast(in: directory, desktop: desktop, relay: ["--setup"])
        defer { broadcast.end() }
        try waitUntil("the relay", isTrue: { broadcast.status != nil })
        let page = SocketAddress(bytes: [127, 0, 0, 1], port: broadcast.ports.http)
        let program = LifeWatch(try ScriptedPeer.consumer(of: broadcast.consumers))
        let socket = try WebSocketPeer(to: page)
        let runtime = try #require(desktop.environment["XDG_RUNTIME_DIR"]) + "/porthole"
        let before = try Leftovers(of: broadcast, on: desktop, runtime: runtime, in: directory)
        var memory = MemoryWatch()
        var random = SplitMix(seed: 11)
        var shown = 0
        for round in 1...rounds {
          try broadcast.control("setup", "name=round \(round)")
          try broadcast.control("start")
          let played = directory.file("round.ts")
          unlink(played)
          let player = try ProcessRun(
            "curl", ["-sN", "-o", played, broadcast.liveTS], name: "player",
            in: directory)
          defer { player.end() }
          if random.below(4) > 0 {
            try broadcast.waitUntilLive()
            shown += 1
          }
          let step = { _ = usleep(UInt32(random.below(150_000))) }
          step()
          for _ in 0..<random.below(3) {
            try broadcast.control("pause")
            step()
            try broadcast.control("resume")
            step()
          }
          let reason = "the end of \(round)"
          try broadcast.control("finish", reason)
          try program.readEnd(reason)
          try socket.receive("the end on the page's socket") { event -> Void? in
            guard case .message(let raw) = event else { return nil }
            return try? Message(raw) == .finished(.finished, reason) ? () : nil
          }
          // A player that has seen nothing yet waits on, for the next one's picture.
          try waitUntil("the player's end in round \(round)", within: .seconds(5)) {
            if let code = player.exitCode { return code == 0 }
            return broadcast.status?.agentPID == nil && access(played, F_OK) != 0
          }
          player.end()
          try waitUntil("nothing that is left of round \(round)") {
            try Leftovers(of: broadcast, on: desktop, runtime: runtime, in: directory) == before
          }
          memory.note(try ProcessFootprint(of: broadcast.relay.pid))
        }
        print("\(rounds) rounds, \(shown) of them with a picture, \(program.packets) packets")
        #expect(program.packets > shown)
        if isLongRun { memory.expectNoGrowth(warmUp: 50) }
        // What has shown a picture is not cancelled, and a portal that hangs shows none.
        let portal = try desktop.pid(of: "portal")
        defer { kill(portal, SIGCONT) }
        for milliseconds in [0, 300] {
          kill(portal, SIGSTOP)
          try broadcast.control("setup", "name=not this one")
          try broadcast.control("start")
          _ = poll(nil, 0, Int32(milliseconds))
          try broadcast.control("cancel")
          kill(portal, SIGCONT)
          try waitUntil("nothing that is left of a start cancelled after \(milliseconds) ms") {
            try Leftovers(of: broadcast, on: desktop, runtime: runtime, in: directory) == before
          }
          #expect(throws: (any Error).self) { try ScriptedPeer(to: broadcast.agentAddress) }
        }
      }
    }
  }
}

/// What a consumer sees of broadcasts, one after the other.
private final class LifeWatch {
  private let peer: ScriptedPeer
  private(set) var packets = 0
  private var pts: [UInt32: Int64] = [:]
  private var isPaused = false

  init(_ peer: ScriptedPeer) { self.peer = peer }

  /// Reads up to the end that is told for this reason, and holds all before it to what was promised.
  func readEnd(_ reason: String) throws {
    try peer.receive("the end: \(reason)") { raw -> Void? in
      guard raw.header.kind != .packet else {
        packets += 1
        let stream = raw.header.stream
        #expect(!isPaused, "a packet in a pause")
        #expect(raw.header.pts > pts[stream] ?? .min, "PTS went back")
        pts[stream] = raw.header.pts
        return nil
      }
      switch try Message(raw) {
      case .sessionState(let state, _, _, _): isPaused = state == .paused
      case .finished(let code, let text):
        #expect(code == .finished && text == reason)
        return ()
      default: break
      }
      return nil
    }
  }
}

/// What a broadcast could leave behind.
private struct Leftovers: Equatable {
  let children: [pid_t]
  let descriptors: Int
  let files: [String]
  let nodes: [String]

  init(
    of broadcast: Broadcast, on desktop: DesktopSession, runtime: String,
    in directory: TestDirectory
  ) throws {
    children = try EndToEndTests.children(of: broadcast.relay.pid)
    descriptors = try ProcessFootprint(of: broadcast.relay.pid).descriptorCount
    files = try FileManager.default.contentsOfDirectory(atPath: runtime).sorted()
      .filter { !$0.hasPrefix("last-words") }
    let list = try ProcessRun.run(
      "pw-cli", ["ls", "Node"], environment: desktop.environment, in: directory)
    nodes = list.output.split(separator: "\n").filter { $0.contains("node.name") }
      .map(String.init).sorted()
  }
}

/// The processes that a process has started and not seen the end of.
func children(of pid: pid_t) throws -> [pid_t] {
  let text = String(decoding: try readFile("/proc/\(pid)/task/\(pid)/children"), as: UTF8.self)
  return text.split(separator: " ").compactMap { pid_t($0) }
}
