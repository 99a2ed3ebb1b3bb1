import CaptureSupport
import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// What is shown is switched off, taken away, or one of several (BL-28).
  @Suite struct Outputs {
    private static let off = "the screen is off"

    @Test
    func `BL-28: a monitor that is off pauses, and goes on when it is on again`() throws {
      try withTestDirectory { directory in
        let desk = try MutterDesk(
          in: directory, size: (1280, 720), beside: [(800, 600)], cursor: "hidden")
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:mutter"],
          driver: desk.environment)
        try broadcast.waitUntilLive()
        let viewer = try PacketLog(broadcast.consumers)
        try waitUntil("a picture", isTrue: { !viewer.packets.isEmpty })

        // The desktop is idle: nothing is drawn any more.
        try desk.order("power 3")
        #expect(try viewer.waitForState(.paused) == Self.off)
        let told = viewer.packets.count
        try desk.order("power 0")
        try viewer.waitForState(.live)
        #expect(try viewer.packet(number: told).isKeyframe)
        #expect(broadcast.status?.json["deaths"] as? Int == 0)

        // Whoever controls it wants to see it all the same.
        try desk.order("power 1")
        #expect(try viewer.waitForState(.paused) == Self.off)
        try broadcast.control("resume")
        try viewer.waitForState(.live)
        try desk.order("power 0")

        // A virtual monitor is drawn on whatever the others do, and goes on being seen.
        let player = try Player(broadcast.liveTS, in: directory)
        let window = try desk.show("counter", in: directory)
        let first = try player.waitForCounter(past: 0, within: .seconds(15))
        try desk.order("power 3")
        try player.waitForCounter(past: first + 120, within: .seconds(15))
        #expect(broadcast.status?.state == "live")
        try desk.order("power 0")
        window.end()

        broadcast.end()
      }
    }

    @Test
    func
      `a window is shown exactly as large as it is, also when that changes, and its end is told`()
      throws
    {
      try withTestDirectory { directory in
        let desk = try MutterDesk(in: directory, size: (1280, 720), cursor: "hidden")
        let sizes = [(900, 600), (1100, 500), (848, 482)]
        let window = try desk.show(
          "counter", "--sizes", sizes.map { "\($0.0)x\($0.1)" }.joined(separator: ","),
          in: directory)
        let node = try desk.record("window")
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:\(node)"], driver: desk.environment)
        try broadcast.waitUntilLive()
        let viewer = try PacketLog(broadcast.consumers)
        for round in 0..<(isLongRun ? 30 : 4) {
          let size = sizes[round % sizes.count]
          if round > 0 { window.signal(SIGUSR1) }
          var edges = "nothing"
          do {
            try waitUntil(
              "\(size)", within: .seconds(10),
              isTrue: {
                let seen = try? broadcast.snapshot(width: size.0, height: size.1, in: directory)
                guard let seen else { return false }
                edges = seen.strangeEdges
                return edges.isEmpty
              })
          } catch {
            throw ProcessFailure(description: "\(size): \(edges)")
          }
        }
        #expect(broadcast.status?.json["deaths"] as? Int == 0)
        window.end()
        try viewer.waitForWords(
          "source-ended: the screen's PipeWire node is gone", of: .interrupted)
        broadcast.end()
      }
    }

    // mutter 43 goes on giving what is in its place: here another monitor of the same size.
    @Test
    func
      `BL-28: a monitor taken out of the desktop is paused, not mistaken for another, and comes back`()
      throws
    {
      try withTestDirectory { directory in
        let desk = try MutterDesk(
          in: directory, size: (960, 540), beside: [(960, 540)], cursor: "hidden")
        let portal = try ScriptedDesk(in: directory, before: desk)
        try portal.answer("answer accept", "node mutter", "place 0 0")
        let window = try desk.show("counter", "--sizes", "900x500", in: directory)
        let broadcast = try Broadcast(in: directory, scripted: portal)
        try broadcast.waitUntilLive()
        let viewer = try PacketLog(broadcast.consumers)
        let player = try Player(broadcast.liveTS, in: directory)
        let number = try player.waitForCounter(past: 10, within: .seconds(10))

        try desk.order("monitors Meta-1")
        #expect(try viewer.waitForState(.paused) == Self.off)
        // The state is said again each second.
        func wait(states: Int) throws -> Int {
          let told = viewer.states.count
          try waitUntil("\(states) s of it", isTrue: { viewer.states.count >= told + states })
          // The last keyframe is said again, too, whose counter is lower.
          return try #require(player.counters.compactMap { $0 }.max())
        }
        let last = try wait(states: 1)
        #expect(last < number + 150)
        #expect(try wait(states: 2) == last)

        try desk.order("monitors Meta-0 Meta-1")
        try viewer.waitForState(.live)
        #expect(broadcast.status?.json["deaths"] as? Int == 0)
        // The other one comes and goes, and the picture goes on, once it is known which of them is shown.
        let there = try player.waitForCounter(past: last, within: .seconds(10))
        try desk.order("monitors Meta-0")
        try player.waitForCounter(past: there + 30, within: .seconds(10))
        try viewer.waitForState(.live)
        window.end()
        broadcast.end()
      }
    }

    // PipeWire takes the buffers away, and the node stands there still.
    @Test func `BL-02, BL-28: a producer that stops for a while pauses, and goes on as it was`()
      throws
    {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let screen = try DrawnScreen(on: daemon, width: 640, height: 360)
        defer { screen.end() }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:drawn"], driver: daemon.environment)
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let viewer = try ScriptedPeer.consumer(of: broadcast.consumers)
        for seconds in isLongRun ? [90, 5, 1] : [2] {
          _ = try viewer.receivePacket()
          screen.change { $0.isActive = false }
          #expect(try viewer.receiveState(.paused) == Self.off)
          // The last keyframe is said again; the time is to pass.
          let end = ContinuousClock.now + .seconds(seconds)
          while ContinuousClock.now < end { _ = try viewer.receive(within: .seconds(5)) }
          let before = screen.count
          screen.change { $0.isActive = true }
          try viewer.receiveState(.live)
          #expect(try viewer.receivePacket().flags.contains(.keyframe))
          try waitUntil("pictures", isTrue: { screen.count > before + 5 })
        }
        #expect(broadcast.agentPID == agent)
        // One that goes while it is stopped is gone.
        screen.change { $0.isActive = false }
        _ = try viewer.receiveState(.paused)
        screen.end()
        #expect(
          try viewer.receiveState(.interrupted)
            == "source-ended: the screen's PipeWire node is gone")
        broadcast.end()
      }
    }

    // What a producer gives at once may be given before the graph is ready for it, and is lost.
    @Test func `BL-01: a still screen whose first picture was lost is asked for it once more`()
      throws
    {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let screen = try DrawnScreen(on: daemon, width: 640, height: 360)
        defer { screen.end() }
        screen.change {
          $0.rate = 0
          $0.isStill = true
        }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:drawn"], driver: daemon.environment)
        try broadcast.waitUntilLive(within: .seconds(5))
        try broadcast.expectScreen(
          ground: 0x20_4060, width: 640, height: 360, directory)
        broadcast.end()
      }
    }

    @Test func `two monitors at once are two broadcasts, which know nothing of each other`() throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (960, 480), outputs: 2)
        for window in ["window=still", "window2=counter"] { try desktop.show(window) }
        let first = try Broadcast(in: directory, desktop: desktop, name: "first")
        try first.waitUntilLive()
        try desktop.pick(2)
        let second = try Broadcast(in: directory, desktop: desktop, name: "second")
        let other = try #require(try second.waitUntilLive().agentPID)
        let player = try Player(second.liveTS, in: directory)
        let number = try player.waitForCounter(past: 0, within: .seconds(10))
        /// Whether the first one shows its own monitor, where no counter is.
        func isStill() throws -> Bool {
          let seen = try first.snapshot(width: 960, height: 480, in: directory)
          return seen.colour(x: 64, y: 64, side: 32).distance(to: StillPicture.windowGround) <= 6
        }
        #expect(try isStill())

        // Each has its permission, and its last words.
        let agent = try #require(first.agentPID)
        kill(agent, SIGKILL)
        try waitUntil(
          "the next agent", within: .seconds(15),
          isTrue: {
            let status = first.status
            return status?.state == "live" && status?.agentPID != agent
          })
        #expect(first.status?.lastDeath.contains("SIGKILL") == true)
        #expect(try isStill())
        try player.waitForCounter(past: number + 30, within: .seconds(10))
        #expect(second.status?.json["deaths"] as? Int == 0)
        #expect(second.agentPID == other)
        first.end()
        second.end()
      }
    }

    // Each is another agent's: whoever is lost is not waited for longer each time.
    @Test
    func `BL-16: another source in the same session is described and keyed, as soon as the first`()
      throws
    {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let sizes = [(640, 360), (800, 450), (560, 420)]
        let grounds: [UInt32] = [0x20_4060, 0x80_4020, 0x40_8040]
        func draw(_ round: Int) throws -> DrawnScreen {
          let size = sizes[round % 3]
          let screen = try DrawnScreen(on: daemon, width: size.0, height: size.1)
          let ground = grounds[round % 3]
          screen.change { $0.picture = { .init(NumberedPicture(number: $0, ground: ground)) } }
          return screen
        }
        var screen = try draw(0)
        defer { screen.end() }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:drawn"], driver: daemon.environment)
        let session = try broadcast.waitUntilLive().json["session"] as? String
        let log = try PacketLog(broadcast.consumers)
        var times: [Int64] = []
        for round in 1...(isLongRun ? 20 : 5) {
          let shown = try waitUntil("a picture") { log.packets.last }
          // Agents that live shorter are taken for ones that crash.
          try waitUntil(
            "a while of it", isTrue: { log.packets.last!.pts - shown.pts > 2_200_000_000 })
          screen.end()
          try waitUntil("its end", isTrue: { log.states.last?.state == .interrupted })
          screen = try draw(round)
          let begun = MonotonicClock.now()
          let size = sizes[round % 3]
          let description = try waitUntil("its description", within: .seconds(15)) {
            log.descriptions.last { $0.arrival > begun && ($0.width, $0.height) == size }
          }
          let packet = try waitUntil("its picture") {
            log.packets.first { $0.arrival >= description.arrival }
          }
          #expect(packet.isKeyframe)
          times.append((packet.arrival - begun) / 1_000_000)
          try broadcast.expectScreen(
            ground: grounds[round % 3], width: size.0, height: size.1, directory)
        }
        print("from another source to its picture: \(times) ms")
        // Of halves, of which no single time decides; an agent that is waited for longer each time takes 2 s more.
        let half = (times.count + 1) / 2
        func median(_ times: ArraySlice<Int64>) -> Int64 { times.sorted()[times.count / 2] }
        #expect(
          median(times.suffix(half)) < median(times.prefix(half)) + 700,
          "the agents' starts differ by up to half a second")
        #expect(broadcast.status?.json["session"] as? String == session)
        #expect(log.end == nil)
        broadcast.end()
      }
    }
  }
}

extension StillPicture {
  /// Of `window.py`.
  fileprivate static let windowGround = Colour(red: 32, green: 64, blue: 96)

  /// Which of the edges are not those of a window of `window.py`, whose ground goes up to them.
  fileprivate var strangeEdges: String {
    let side = 8
    let places = [
      ("left", 0, height / 2), ("right", width - side, height / 2), ("top", width / 2, 0),
      ("bottom", width / 2, height - side), ("corner", width - side, height - side),
    ]
    return places.compactMap { name, x, y in
      let seen = colour(x: x, y: y, side: side)
      return seen.distance(to: Self.windowGround) <= 6 ? nil : "\(name) is \(seen)"
    }.joined(separator: ", ")
  }
}
