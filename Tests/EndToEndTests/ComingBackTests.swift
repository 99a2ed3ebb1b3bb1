import CaptureSupport
import Foundation
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// What a broadcast stands on goes away and comes back (BL-29, BL-21, BL-19).
  @Suite struct ComingBack {
    /// The desktop is mended, and has something to show, before the time runs.
    private static let limit = Duration.seconds(3)

    @Test
    func
      `BL-29: each part of the desktop is killed and started again: a picture within 3 s of that`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        try desktop.show("window=counter")
        try desktop.show("speakers")
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on"])
        let session = broadcast.status?.json["session"] as? String
        let player = try Player(broadcast.liveTS, in: directory)
        var last = try player.waitForCounter(past: 0, within: .seconds(5))
        for round in 1...(isLongRun ? 20 : 1) {
          for victim in ["portal", "wlr", "wireplumber", "sway", "pipewire"] {
            kill(try desktop.pid(of: victim), SIGKILL)
            // The portal alone is not missed by a picture that is there.
            if victim != "portal" {
              try waitUntil("the broadcast's word of \(victim)") {
                broadcast.status?.state == "interrupted" ? () : nil
              }
            }
            try desktop.mend()
            try desktop.show("speakers")
            try desktop.show("window=counter")
            let mended = ContinuousClock.now
            // Another window counts from 0.
            last = player.counters.count
            try waitUntil("a picture after \(victim)", within: .seconds(6)) {
              broadcast.status?.state == "live" && player.counters.count > last + 10 ? () : nil
            }
            let picture = mended.duration(to: .now)
            try broadcast.waitForSounds(["app": "on"])
            print(
              "round \(round): \(victim): picture \(picture), sound \(mended.duration(to: .now))")
            #expect(picture < Self.limit, "\(victim)")
            #expect(mended.duration(to: .now) < Self.limit, "\(victim)")
          }
        }
        #expect(player.isConnected)
        #expect(broadcast.status?.json["session"] as? String == session)
      }
    }

    @Test func `BL-29: a desktop that sleeps for a while is shown and heard again when it wakes`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        for thing in ["window=counter", "speakers"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on"])
        let player = try Player(broadcast.liveTS, in: directory)
        try player.waitForCounter(past: 0, within: .seconds(5))
        let before = try #require(broadcast.status)
        let parts = [
          "window", "speakers", "portal", "wlr", "screencopy", "permissions", "sway", "wireplumber",
          "pipewire", "dbus",
        ]
        let pids = try parts.map { try desktop.pid(of: $0) }
        defer { for pid in pids { kill(pid, SIGCONT) } }
        for pid in pids { kill(pid, SIGSTOP) }
        let seconds = isLongRun ? 60 : 3
        Thread.sleep(forTimeInterval: Double(seconds))
        #expect(broadcast.status?.sounds == ["app": "lost"])
        let last = try #require(player.counters.last { $0 != nil } ?? nil)
        for pid in pids { kill(pid, SIGCONT) }
        let woken = ContinuousClock.now
        try player.waitForCounter(past: last + 10, within: .seconds(6))
        try broadcast.waitForSounds(["app": "on"])
        print("after \(seconds) s: picture and sound \(woken.duration(to: .now))")
        #expect(woken.duration(to: .now) < Self.limit)
        let after = try #require(broadcast.status)
        #expect(after.agentPID == before.agentPID && after.json["deaths"] as? Int == 0)
        let growth = after.agentFigure("vm_data_kb") - before.agentFigure("vm_data_kb")
        print("data grew by \(growth) kB")
        // A stream takes 4 MB, and one is made anew each two seconds.
        #expect(growth < 2048)
      }
    }

    @Test(.enabled(if: isLongRun, "it takes as long as a processor's share wants"))
    func `BL-29: what waits for a desktop that is gone takes less than a hundredth of a processor`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--audio", "app"], relay: ["--hold", "0"])
        try broadcast.waitUntilLive()
        kill(try desktop.pid(of: "pipewire"), SIGKILL)
        try waitUntil(
          "five deaths", within: .seconds(20),
          isTrue: { broadcast.status?.json["deaths"] as? Int ?? 0 >= 5 })
        /// Of a process and of the children that it has seen end, in hundredths of a second.
        func ticks(of pid: pid_t) throws -> Int {
          let text = String(decoding: try readFile("/proc/\(pid)/stat"), as: UTF8.self)
          let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
          return fields[11...14].compactMap { Int($0) }.reduce(0, +)
        }
        /// Of the relay and of all agents, also of one that runs now.
        func ticks() throws -> Int {
          let relay = broadcast.relay.pid
          let agents = try children(of: relay).compactMap { try? ticks(of: $0) }
          return try ticks(of: relay) + agents.reduce(0, +)
        }
        let before = try ticks()
        Thread.sleep(forTimeInterval: 30)
        let used = try ticks() - before
        print("waiting: \(used) hundredths of a second in 30 s")
        #expect(used < 30)
      }
    }

    /// A desktop that plays 440 Hz, and an ear that hears it.
    private func withTone(
      _ body: (TestDirectory, DesktopSession, Broadcast, Ear) throws -> Void
    ) throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        try desktop.show("speakers")
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitForSounds(["app": "on"])
        let ear = try Ear(broadcast.liveTS, in: directory)
        try ear.wait(for: 440, within: .seconds(10))
        try body(directory, desktop, broadcast, ear)
      }
    }

    @Test func `BL-19: while nothing plays the sound's time goes on, and the next tone is on time`()
      throws
    {
      try withTone { _, desktop, broadcast, ear in
        try desktop.hide("speakers")
        try waitUntil("silence") { ear.level(of: 440) < 0.01 ? () : nil }
        let (begin, heard) = (ContinuousClock.now, ear.seconds)
        // A session manager suspends an output 5 s after the last sound.
        Thread.sleep(forTimeInterval: isLongRun ? 60 : 6)
        let passed = begin.duration(to: .now) / .seconds(1)
        let silence = ear.seconds - heard
        print("\(passed) s without a sound are \(silence) s of silence")
        #expect(abs(passed - silence) < 0.5)
        #expect(broadcast.status?.sounds == ["app": "on"])
        try desktop.show("speakers")
        let played = ContinuousClock.now
        try ear.wait(for: 440, within: .seconds(3))
        print("the next tone is heard \(played.duration(to: .now)) after its start")
        let total = begin.duration(to: .now) / .seconds(1)
        #expect(abs(ear.seconds - heard - total) < 0.5)
      }
    }

    @Test
    func
      `a microphone that opens and never delivers is told of within 3 s, and heard when it does`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        // A source that is no device is driven by whatever turns, and a still screen does not.
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--source", "pattern", "--size", "320x240"])
        try broadcast.waitUntilLive()
        let file = directory.file("voice.wav")
        let made = try ProcessRun.run(
          "ffmpeg",
          ["-v", "error", "-f", "lavfi", "-i", "sine=660:duration=60", "-ar", "48000", file],
          name: "voice", in: directory)
        #expect(made.exitCode == 0)
        let voice = try ProcessRun(
          "pw-cat", ["-p", "-P", "{ media.class=Audio/Source node.name=voice }", file],
          environment: desktop.environment, in: directory)
        try waitUntil("the microphone") { (try? desktop.node(named: "voice")).map { _ in () } }
        voice.signal(SIGSTOP)
        defer { voice.signal(SIGCONT) }
        try broadcast.control("sound", "mic", "on")
        let opened = ContinuousClock.now
        try broadcast.waitForSounds(["mic": "lost"])
        print("told \(opened.duration(to: .now)) after it was opened")
        #expect(opened.duration(to: .now) < Self.limit)
        let sounds = broadcast.status?.json["sounds"] as? [String: [String: Any]]
        #expect(sounds?["mic"]?["text"] as? String == "it gives no samples")
        voice.signal(SIGCONT)
        let begun = ContinuousClock.now
        try broadcast.waitForSounds(["mic": "on"])
        print("heard \(begun.duration(to: .now)) after it began")
        #expect(begun.duration(to: .now) < Self.limit)
      }
    }

    @Test func `BL-21: the sound follows another default output, and one that is taken away`()
      throws
    {
      try withTone { directory, desktop, broadcast, ear in
        let second = try SecondDevice(of: desktop, hertz: 880, in: directory)
        try ear.wait(for: 440, within: .seconds(10))
        try second.makeDefault()
        let moved = ContinuousClock.now
        // The session manager may move the first tone along.
        try ear.wait(for: 880, within: .seconds(6))
        print("the other output is heard after \(moved.duration(to: .now))")
        #expect(moved.duration(to: .now) < Self.limit)
        try second.destroy()
        let gone = ContinuousClock.now
        try ear.wait(for: 440, without: 880, within: .seconds(6))
        print("the first one is heard again after \(gone.duration(to: .now))")
        #expect(gone.duration(to: .now) < Self.limit)
        #expect(broadcast.status?.json["deaths"] as? Int == 0)
      }
    }

    @Test func `BL-21: the sound follows another default microphone, and one that is taken away`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        try desktop.show("microphone")
        let second = try SecondDevice(.microphone, of: desktop, hertz: 880, in: directory)
        try desktop.makeDefault(.microphone, "porthole_microphone", in: directory)
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "mic"])
        try broadcast.waitForSounds(["mic": "on"])
        let ear = try Ear(broadcast.liveTS, in: directory)
        try ear.wait(for: 660, without: 880, within: .seconds(10))
        try second.makeDefault()
        let moved = ContinuousClock.now
        try ear.wait(for: 880, without: 660, within: .seconds(6))
        print("the other microphone is heard after \(moved.duration(to: .now))")
        #expect(moved.duration(to: .now) < Self.limit)
        try second.destroy()
        let gone = ContinuousClock.now
        try ear.wait(for: 660, without: 880, within: .seconds(6))
        print("the first one is heard again after \(gone.duration(to: .now))")
        #expect(gone.duration(to: .now) < Self.limit)
        #expect(broadcast.status?.json["deaths"] as? Int == 0)
      }
    }
  }
}
