import Posix
import TestSupport
import Testing
import Wire

/// The reader that strangers begin with: it knows of us only what `docs/protocol.md` says.
@Suite struct ExampleTests {
  @Test("the example reader has under 100 lines and writes a file with every picture")
  func readStream() throws {
    try withRelay { relay, agent, directory in
      let video = try SampleVideo(in: directory)
      let link = try agent.begin()
      let path = directory.file("read.h264")
      let script = packageRoot + "/examples/read-stream.py"
      let example = try ProcessRun(
        "/usr/bin/python3", [script, path, "--from", "\(relay.consumers)"], name: "example",
        in: directory)
      try link.receive("the example") { raw in
        try? Message(raw) == .audience(readers: 1, containers: 0) ? () : nil
      }
      for (index, unit) in video.accessUnits.enumerated() {
        try link.sendPacket(
          unit.bytes, pts: Int64(index) * 33_333_333, isKeyframe: unit.isKeyframe)
      }
      try waitUntil("all packets") {
        try relay.get("/api/v1/status").contains("\"packets\":\(video.accessUnits.count),")
      }
      _ = try relay.ctl("finish", "enough")
      #expect(try example.waitForEnd() == 0)
      #expect(example.errors.contains("live"))
      #expect(example.errors.contains("ended with code 0: enough"))
      #expect(try SampleVideo.pictures(of: path, in: directory).count == video.accessUnits.count)
      let lines = try readFile(script).count { $0 == UInt8(ascii: "\n") }
      #expect(lines < 100)
    }
  }
}
