import CaptureSupport
import Foundation
import Glibc
import PipeWire
import TestSupport
import Testing

@testable import CaptureAgent

/// Sources of every kind behind their one protocol, made and ended again and again.
@Suite struct SourceLifeTests {
  // In a process of its own: the tests beside it open descriptors too. PipeWire 0.3.65 forgets what a
  // consumer held that left, so each round has a producer of its own.
  @Test func `sources of each kind that are made and ended leave neither descriptors nor memory`()
    async
  {
    await #expect(processExitsWith: .success) {
      let rounds = ProcessInfo.processInfo.environment["PORTHOLE_LONG"] != nil ? 1000 : 40
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        var before = (descriptors: 0, residentKB: 0)
        for round in 0..<rounds {
          // What is made once is there by then.
          if round == rounds / 4 { before = try held() }
          let scene = try CaptureScene()
          let name = "source-\(round)"
          let wish = CameraWish(
            name: name, size: FrameSize(320, 200), isSizeAsked: true, framesPerSecond: 30)
          let screen = try ScreenProducer(
            loop: scene.loop, remote: daemon.connect(), name: name, role: "Camera", width: 320,
            height: 200)
          switch round % 3 {
          case 0:
            scene.start { loop, slot, onEvent in
              TestPatternSource(
                loop: loop, slot: slot, width: 320, height: 200, framesPerSecond: 60,
                onEvent: onEvent)
            }
          case 1: try scene.start(node: name, of: daemon)
          default:
            try scene.waitForNode(name, of: daemon)
            try scene.startAtOnce(.camera(wish), of: daemon)
          }
          let present = { _ = screen.present(.init()) }
          try scene.run(until: "a frame of \(name)", step: present) { !scene.seen.isEmpty }
          scene.stop()
        }
        let after = try held()
        print("\(rounds) sources: \(before) to \(after)")
        #expect(before.descriptors > 0)
        #expect(after.descriptors <= before.descriptors)
        #expect(after.residentKB - before.residentKB < 1024)
      }
    }
  }
}

private func held() throws -> (descriptors: Int, residentKB: Int) {
  let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
  return (descriptors, (Int(pages[1]) ?? 0) * 4)
}
