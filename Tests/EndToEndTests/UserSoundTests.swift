import Foundation
import TestSupport
import Testing

/// What a user hears of a desktop that is broadcast.
extension EndToEnd.Sounds {
  @Test func `of two applications at one output the chosen one is heard, and a user hears both`()
    throws
  {
    try withTestDirectory { directory in
      let desktop = try DesktopSession(in: directory, size: (640, 480))
      try desktop.show("speakers")
      let other = try desktop.play(
        880, as: "other_tone", "target-object=porthole_speakers", in: directory)
      defer { other.end() }
      let broadcast = try Broadcast(
        in: directory, desktop: desktop, agent: ["--audio", "app:porthole_tone"])
      try broadcast.waitForSounds(["app": "on"])
      let ear = try Ear(broadcast.liveTS, in: directory)
      try ear.wait(for: 440, without: 880, within: .seconds(10))
      let file = directory.file("user.wav")
      let user = try ProcessRun(
        "pw-record",
        ["-P", "{ stream.capture.sink=true }", "--target", "porthole_speakers", file],
        environment: desktop.environment, in: directory)
      // Bytes of 48 kHz stereo, 16 bits.
      try waitUntil("2 s of what a user hears", within: .seconds(10)) {
        (try? readFile(file).count).map { $0 > 384_000 } == true ? () : nil
      }
      user.signal(SIGINT)
      _ = try user.waitForEnd()
      let heard = try Tone.samples(of: file, track: 0, in: directory).suffix(9_600)
      for hertz in [440, 880] {
        let level = Ear.level(of: hertz, in: Array(heard))
        print("\(hertz) Hz: \(level) at the user, \(ear.level(of: hertz)) in the broadcast")
        #expect(level > 0.1)
      }
      try ear.wait(for: 440, without: 880, within: .seconds(1))
    }
  }

  @Test func `an agent that is stopped does not stop the desktop's sound`() throws {
    try withTestDirectory { directory in
      let desktop = try DesktopSession(in: directory, size: (1280, 720))
      for thing in ["window=counter", "speakers"] { try desktop.show(thing) }
      let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
      try broadcast.waitForSounds(["app": "on"])
      let agent = try #require(broadcast.agentPID)
      kill(agent, SIGSTOP)
      defer { kill(agent, SIGCONT) }
      let seconds = isLongRun ? 20 : 3
      let file = directory.file("desktop.wav")
      let recorder = try ProcessRun(
        "pw-record",
        ["-P", "{ stream.capture.sink=true }", "--target", "porthole_speakers", file],
        environment: desktop.environment, in: directory)
      // Bytes of 48 kHz stereo, 16 bits.
      func wait(forMore bytes: Int) throws -> (bytes: Int, time: ContinuousClock.Instant) {
        try waitUntil("\(bytes) bytes of sound", within: .seconds(2 * seconds + 5)) {
          let count = (try? readFile(file).count) ?? 0
          return count > bytes ? (count, .now) : nil
        }
      }
      let first = try wait(forMore: 9_600)
      let last = try wait(forMore: first.bytes + seconds * 192_000)
      let share =
        Double(last.bytes - first.bytes) / 192_000 / ((last.time - first.time) / .seconds(1))
      print("recorded \(share) of the time")
      // A busy machine's graph leaves some out.
      #expect(share > 0.75)
      recorder.signal(SIGINT)
      _ = try recorder.waitForEnd()
      let tone = try Tone(of: file, track: 0, in: directory)
      #expect(abs(tone.hertz - 440) < 1 && abs(tone.decibels + 9.03) < 1, "\(tone)")
      let quiet =
        try Tone.samples(of: file, track: 0, in: directory).dropFirst(9_600)
        .split { abs($0) > 0.01 }.map(\.count).max() ?? 0
      print("silent for \(quiet / 48) ms at most")
      #expect(quiet < 14_400)
    }
  }
}
