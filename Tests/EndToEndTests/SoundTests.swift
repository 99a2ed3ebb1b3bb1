import CaptureSupport
import Foundation
import TestSupport
import Testing
import Wire

extension EndToEnd {
  @Suite struct Sounds {
    @Test
    func `what plays and what is spoken come apart, true in pitch and level, past large keyframes`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        for thing in ["window=still", "speakers", "microphone"] { try desktop.show(thing) }
        // Lossless, so that keyframes are large: 3.1 MB.
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--audio", "both", "--fps", "10"],
          driver: ["PORTHOLE_DRIVER_MODE": "lossless"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        let file = directory.file("both.ts")
        let player = try ProcessRun(
          "curl", ["-s", "--max-time", "6", "-o", file, broadcast.liveTS], in: directory)
        let heard = try Heard(broadcast, for: .seconds(6))
        print("largest keyframe \(heard.largestKeyframe) bytes")
        #expect(heard.largestKeyframe > 3_000_000)
        for source in [StreamDescription.Source.appSound, .microphone] {
          let packets = heard.packets[source] ?? []
          #expect(packets.count > 270)
          var missing: Int64 = 0
          for (one, next) in zip(packets, packets.dropFirst()) {
            let step = next.pts - one.pts
            if next.followsGap {
              missing += step - 20_000_000
            } else {
              // Fewer samples than count as a gap are made up for by and by, 3 ms a packet at most.
              #expect((17_000_000...23_000_000).contains(step))
            }
          }
          print("\(source): \(missing / 1_000_000) ms missing")
          // A busy machine's graph leaves some out.
          #expect(missing < 300_000_000)
          let waits = heard.waits(for: source)
          print("\(source): \(packets.count) packets, past keyframes at most \(waits) apart")
          #expect(waits.count >= 4)
          // A cycle of the graph brings one packet, or two, each 21 ms.
          #expect(waits[waits.count / 2] < .milliseconds(80))
        }
        _ = try player.waitForEnd()
        for (track, pitch) in [(0, 440.0), (1, 660.0)] {
          let tone = try Tone(of: file, track: track, in: directory)
          // As loud as `headless-desktop show` plays it: a sine of half the scale.
          #expect(abs(tone.hertz - pitch) < 1 && abs(tone.decibels + 9.03) < 1, "\(tone)")
        }
      }
    }

    @Test func `BL-22: a sound that is taken away is told of within 2 s and comes back by itself`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        for thing in ["window=counter", "speakers", "microphone"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "both"])
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        for (thing, word, other) in [("microphone", "mic", "app"), ("speakers", "app", "mic")] {
          let node = try desktop.node(named: "porthole_\(thing)")
          let run = try ProcessRun.run(
            "pw-cli", ["destroy", node], environment: desktop.environment, in: directory)
          #expect(run.exitCode == 0, "\(run.errors)")
          let begin = ContinuousClock.now
          try broadcast.waitForSounds([word: "lost", other: "on"])
          print("\(word): lost after \(ContinuousClock.now - begin)")
          #expect(ContinuousClock.now - begin < .seconds(2))
          // Nobody hears of it in the other, for as long as it is away.
          let seconds = isLongRun ? 30 : 1
          let heard = try Heard(broadcast, for: .seconds(seconds))
          let count = heard.packets[word == "mic" ? .appSound : .microphone]?.count ?? 0
          print("\(other): \(count) packets in \(seconds) s")
          #expect(count > 45 * seconds)
          try broadcast.waitForSounds([word: "lost", other: "on"])
          try desktop.hide(thing)
          try desktop.show(thing)
          try broadcast.waitForSounds(["app": "on", "mic": "on"])
        }
        #expect(broadcast.status?.state == "live")
      }
    }

    @Test func `each sound is switched while live, and a pause holds both`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (1280, 720))
        for thing in ["window=counter", "speakers", "microphone"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop)
        try broadcast.waitUntilLive()
        #expect(broadcast.status?.sounds == [:])
        try broadcast.control("sound", "mic", "on")
        try broadcast.waitForSounds(["mic": "on"])
        try broadcast.control("sound", "app", "on")
        try broadcast.control("sound", "mic", "off")
        try broadcast.waitForSounds(["app": "on", "mic": "off"])

        let peer = try ScriptedPeer.consumer(of: broadcast.consumers)
        let app = UInt32(StreamDescription.Source.appSound.rawValue)
        func isSound(_ raw: RawMessage) -> Bool {
          raw.header.kind == .packet && raw.header.stream == app
        }
        try peer.receive("sound") { isSound($0) ? () : nil }
        try broadcast.control("pause")
        try peer.receive("pause") { $0.header.kind == .paused ? () : nil }
        try broadcast.control("resume")
        var early = 0
        try peer.receive("end of the pause") { raw -> Void? in
          if isSound(raw) { early += 1 }
          return raw.header.kind == .resumed ? () : nil
        }
        #expect(early == 0)
        try peer.receive("sound after the pause") { isSound($0) ? () : nil }
      }
    }

    @Test func `a page plays a sound without seams, and its pictures in step with it`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        for thing in ["window=counter", "speakers"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitForSounds(["app": "on"])
        let page = try Browser(broadcast.page)
        try page.evaluate(Self.soundWatch)
        try page.waitForPictures(5, width: 640)
        try page.wait(until: "!document.getElementById('listen').hidden")
        try page.evaluate("document.getElementById('listen').click()")
        try page.wait(until: "heard.length > 150 && inStep.length > 20")
        let pitches = try #require(
          try page.evaluate("heard.slice(50).map((one) => one.rises)") as? [Int])
        // 20 ms of 440 Hz.
        #expect(pitches.count { (8...9).contains($0) } > pitches.count * 9 / 10, "\(pitches)")
        let seams = try page.evaluate(
          "heard.slice(50).filter((one, at, all) => at > 0 && one.start - all[at - 1].start > 0.0201).length"
        )
        print("\(seams ?? 0) seams in \(pitches.count) packets")
        #expect(seams as? Int ?? 99 < pitches.count / 10)
        let steps = try #require(try page.evaluate("inStep.slice(-20)") as? [Double])
        print("pictures are late for their sound by \(steps.map { Int($0 * 1000) }) ms")
        #expect(abs(steps.sorted()[steps.count / 2]) < 0.04)
      }
    }

    /// Has a page write down when each piece of sound is to be heard, and how far each picture that it draws
    /// is from what is heard at that moment, in seconds.
    private static let soundWatch = """
      (() => {
        window.heard = [];
        window.inStep = [];
        const times = [];
        let context;
        const Decoder = AudioDecoder;
        window.AudioDecoder = class extends Decoder {
          constructor({ output, error }) {
            super({ output(sound) { times.push(sound.timestamp / 1e6); output(sound); }, error });
          }
        };
        const start = AudioBufferSourceNode.prototype.start;
        AudioBufferSourceNode.prototype.start = function (when) {
          context = this.context;
          const samples = this.buffer.getChannelData(0);
          const rises = samples.filter((one, at) => at > 0 && samples[at - 1] < 0 && one >= 0).length;
          heard.push({ start: when, time: times[times.length - 1], rises });
          start.call(this, when);
        };
        const draw = CanvasRenderingContext2D.prototype.drawImage;
        CanvasRenderingContext2D.prototype.drawImage = function (frame, ...rest) {
          const last = heard[heard.length - 1];
          if (last && frame.timestamp) {
            const now = context.currentTime - context.outputLatency - (last.start - last.time);
            inStep.push(now - frame.timestamp / 1e6);
          }
          draw.call(this, frame, ...rest);
        };
      })()
      """

    @Test
    func `a page on plain HTTP from another machine plays both sounds, in step with the picture`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        for thing in ["window=counter", "speakers", "microphone"] { try desktop.show(thing) }
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--audio", "both"], anywhere: true)
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        let page = try Browser(try broadcast.page(at: Page.ownAddress()))
        try page.wait(until: "\(Page.video)?.videoWidth === 640")
        #expect(try page.evaluate("'AudioDecoder' in window") as? Bool == false)
        try page.evaluate(Self.elementWatch)
        try page.wait(until: "!document.getElementById('listen').hidden")
        try page.evaluate("document.getElementById('listen').click()")
        for pitch in [440.0, 660.0] {
          try page.wait(until: "window.pitches().some((hertz) => Math.abs(hertz - \(pitch)) < 3)")
        }
        // A sound that begins takes some seconds to be brought into step, at a rate that is not heard.
        var apart: [Double] = []
        defer { print("sound behind picture: \(apart.suffix(40).map { Int($0 * 1000) }) ms") }
        try waitUntil("20 looks in step, in the median", within: .seconds(30)) {
          apart += try #require(try page.evaluate("window.apart()") as? [Double])
          let last = apart.suffix(40).sorted()
          return last.count == 40 && abs(last[20]) < 0.04
        }
        try page.evaluate(
          "document.getElementById('volume-mic').value = 0;"
            + " document.getElementById('volume-mic').dispatchEvent(new Event('input'))")
        #expect(
          try page.evaluate("window.voices.map((one) => one.volume).sort()") as? [Double] == [0, 1])
        try page.evaluate("document.getElementById('listen').click()")
        #expect(try page.evaluate("window.voices.every((one) => one.paused)") as? Bool == true)
      }
    }

    /// Listens to a page's audio elements: `pitches()` in Hz, and `apart()`: by how many seconds each is behind
    /// the picture, as what was appended last and what is played now say it.
    private static let elementWatch = """
      (() => {
        window.voices = [];
        const analysers = [];
        const appended = new Map();
        const context = new AudioContext({ sampleRate: 48000 });
        window.Audio = class extends Audio {
          constructor() {
            super();
            voices.push(this);
            const analyser = new AnalyserNode(context, { fftSize: 32768 });
            context.createMediaElementSource(this).connect(analyser).connect(context.destination);
            analysers.push(analyser);
          }
        };
        const open = MediaSource.prototype.addSourceBuffer;
        MediaSource.prototype.addSourceBuffer = function (type) {
          const buffer = open.call(this, type);
          appended.set(buffer, { isVideo: type.startsWith("video") });
          return buffer;
        };
        const append = SourceBuffer.prototype.appendBuffer;
        SourceBuffer.prototype.appendBuffer = function (bytes) {
          const known = appended.get(this) ?? { isVideo: true };
          appended.set(this, { ...known, time: performance.now() / 1000 });
          append.call(this, bytes);
        };
        window.pitches = () => {
          context.resume();
          return analysers.map((analyser) => {
            const levels = new Float32Array(analyser.frequencyBinCount);
            analyser.getFloatFrequencyData(levels);
            return levels.indexOf(Math.max(...levels)) * 48000 / analyser.fftSize;
          });
        };
        const age = (element, { time }) => {
          const { buffered, currentTime } = element;
          if (!time || buffered.length === 0) return NaN;
          return buffered.end(buffered.length - 1) - currentTime + performance.now() / 1000 - time;
        };
        window.apart = () => {
          const all = [...appended.values()];
          const video = age(document.getElementById('video'), all.find((one) => one.isVideo));
          const sounds = all.filter((one) => !one.isVideo);
          return voices.map((voice, at) => age(voice, sounds[at]) - video);
        };
      })()
      """

    @Test func `a flash and a beep of one moment are within 20 ms of each other at a player`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        for thing in ["window=counter+flips", "speakers"] { try desktop.show(thing) }
        try desktop.hide("speakers")  // The tone; the sink stays.
        let beeps = try BeepPlayer(
          remote: connectToPipeWire(at: desktop.pipeWire), sink: "porthole_speakers")
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitForSounds(["app": "on"])
        let file = try Self.watch(broadcast, for: isLongRun ? 1_200 : 20, in: directory)
        withExtendedLifetime(beeps) {}
        try Self.expectInStep(file, track: 0, drawn: desktop.flips(), in: directory)
      }
    }

    @Test func `BL-18: a sink and a microphone whose clocks are off stay in step with the picture`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=counter+flips")
        // Left alone, either would be apart by 180 ms and more in the end.
        let skew = isLongRun ? 300.0 : 3_000
        let sink = try SkewedDevice(
          .sink, remote: connectToPipeWire(at: desktop.pipeWire), name: "slow", skew: -skew)
        defer { sink.end() }
        let microphone = try SkewedDevice(
          .microphone, remote: connectToPipeWire(at: desktop.pipeWire), name: "fast", skew: skew)
        defer { microphone.end() }
        let beeps = try BeepPlayer(remote: connectToPipeWire(at: desktop.pipeWire), sink: "slow")
        let broadcast = try Broadcast(
          in: directory, desktop: desktop,
          agent: ["--audio", "app:slow,mic:fast"])
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        let file = try Self.watch(broadcast, for: isLongRun ? 1_200 : 60, in: directory)
        withExtendedLifetime(beeps) {}
        for track in [0, 1] {
          try Self.expectInStep(file, track: track, drawn: desktop.flips(), in: directory)
        }
      }
    }

    /// Keeps what a player is given for so many seconds; the file's path.
    private static func watch(
      _ broadcast: Broadcast, for seconds: Int, in directory: TestDirectory
    ) throws -> String {
      try broadcast.waitUntilLive()
      let file = directory.file("watched.ts")
      let player = try ProcessRun(
        "curl", ["-s", "--max-time", "\(seconds)", "-o", file, broadcast.liveTS], in: directory)
      _ = try player.waitForEnd(within: .seconds(seconds + 10))
      return file
    }

    /// From the first to the last of a file, the beeps of a track are within 20 ms of the flashes.
    private static func expectInStep(
      _ file: String, track: Int, drawn: [Double], in directory: TestDirectory
    ) throws {
      let moments = try Moments(of: file, track: track, in: directory)
      print("\(moments.flips.count) flips of \(drawn.count), \(moments.beeps.count) beeps")
      for part in [0..<0.4, 0.4..<0.7, 0.7..<1.0] {
        let step = try #require(moments.soundBehindPicture(drawn: drawn, part: part))
        print("sound behind picture: \(Int(step * 10_000)) tenths of a millisecond")
        #expect(abs(step) < 0.02)
      }
    }

    @Test func `whatever rate and cycle the graph takes, the sound goes on, true in pitch`() throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        for thing in ["window=counter", "speakers"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on"])
        let agent = try #require(broadcast.agentPID)
        let file = directory.file("all.ts")
        let player = try ProcessRun("curl", ["-s", "-o", file, broadcast.liveTS], in: directory)
        // The last one used to take all memory there is: a converter's buffers, larger by six.
        for (name, value) in [
          ("rate", 44_100), ("rate", 192_000), ("rate", 48_000), ("quantum", 8192), ("quantum", 64),
          ("quantum", 0), ("rate", 8_000),
        ] {
          let run = try ProcessRun.run(
            "pw-metadata", ["-n", "settings", "0", "clock.force-\(name)", "\(value)"],
            environment: desktop.environment, in: directory)
          #expect(run.exitCode == 0)
          let heard = try Heard(broadcast, for: .seconds(1))
          let packets = heard.packets[.appSound] ?? []
          print("\(name) \(value): \(packets.count) packets in 1 s")
          #expect(packets.count > 42, "\(name) \(value)")
          for (one, next) in zip(packets, packets.dropFirst()) where !next.followsGap {
            #expect((16_000_000...24_000_000).contains(next.pts - one.pts), "\(name) \(value)")
          }
        }
        player.end()
        let tone = try Tone(of: file, track: 0, in: directory)
        #expect(abs(tone.hertz - 440) < 1 && abs(tone.decibels + 9.03) < 1, "\(tone)")
        #expect(broadcast.agentPID == agent)
      }
    }
  }
}
