import CaptureSupport
import Foundation
import Glibc
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// A camera as the source, with the real portal in front of it or none.
  @Suite struct Cameras {
    @Test func `a camera comes by the portal, mirrored as asked, and its end has its own words`()
      throws
    {
      try withBars("NV12", size: (641, 481), agent: ["--mirror"]) {
        directory, desk, camera, broadcast in
        #expect(desk.calls.contains("Access accept"))
        let picture = try RGBPicture(of: broadcast.liveTS, in: directory)
        #expect(picture.width == 642 && picture.height == 482)
        // The bars' order, from right to left.
        #expect(picture.distance(x: 600, y: 100, from: 0xbfbfbf) <= 6)
        #expect(picture.distance(x: 500, y: 100, from: 0xbfbf00) <= 6)
        #expect(picture.distance(x: 40, y: 100, from: 0x0000bf) <= 6)
        camera.signal(SIGKILL)
        try waitUntil(
          "the camera's end",
          isTrue: { broadcast.status?.lastDeath.contains("the camera is gone") == true })
        let again = try desk.camera("bars", format: "NV12", size: (641, 481))
        try broadcast.waitUntilLive()
        again.end()
      }
    }

    // xdg-desktop-portal 1.16 makes the same of both.
    @Test(arguments: ["cancel", "other"])
    func `a camera that is denied ends the broadcast with 77 and its own words`(
      answer: String
    ) throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        try desk.answer("camera \(answer)")
        let broadcast = try Broadcast(
          in: directory, scripted: desk, agent: ["--source", "camera"])
        #expect(try broadcast.relay.waitForEnd() == 77)
        #expect(
          broadcast.relay.errors.contains("the user declined to share the camera"),
          "\(broadcast.relay.errors)")
      }
    }

    @Test
    func `without a portal for it the camera comes from PipeWire, and a wrong name lists them`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        try desktop.show("camera")
        try desktop.show("odd-camera")
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--source", "camera:porthole_camera"])
        let status = try broadcast.waitUntilLive()
        #expect(status.agentFigure("vm_peak_kb") < 45_056)
        broadcast.end()
        let mistaken = try Broadcast(
          in: directory, desktop: desktop, agent: ["--source", "camera:nobody"])
        try waitUntil(
          "the list",
          isTrue: {
            mistaken.status?.lastDeath.contains(
              "no camera is called nobody: there is porthole_camera") == true
          })
        #expect(mistaken.status?.lastDeath.contains("(exit 69)") == true)
      }
    }

    // At quality 97 a flat patch loses nothing that counts: the step of its mean is an eighth of a sample's.
    @Test
    func `a camera that has 1080p as JPEGs alone is seen in its colours, within the memory limit`()
      throws
    {
      let coder = [
        "videoconvert", "!", "video/x-raw,format=I420,colorimetry=1:4:0:1", "!", "jpegenc",
        "quality=97", "!",
      ]
      try withBars("RGB", size: (1920, 1080), coder: coder, agent: ["--size", "1920x1080"]) {
        directory, _, camera, broadcast in
        let picture = try RGBPicture(of: broadcast.liveTS, in: directory)
        #expect(picture.width == 1920 && picture.height == 1080)
        let bars: [UInt32] = [
          0xbfbfbf, 0xbfbf00, 0x00bfbf, 0x00bf00, 0xbf00bf, 0xbf0000, 0x0000bf,
        ]
        for (index, color) in bars.enumerated() {
          for y in [20, 540, 1060] {
            let distance = picture.distance(x: 137 + index * 274, y: y, from: color)
            #expect(distance <= 3, "bar \(index), \(y)")
          }
        }
        func waitForPictures(_ count: Int) throws {
          try waitUntil(
            "\(count) pictures",
            isTrue: { (broadcast.status?.agentFigure("frames_encoded") ?? 0) >= count })
        }
        // The figures come once a second.
        try waitForPictures(10)
        let before = try #require(broadcast.status)
        try waitForPictures(before.agentFigure("frames_encoded") + 20)
        let status = try #require(broadcast.status)
        print("1080p of JPEGs: \(status.agentFigure("vm_peak_kb")) kB at most")
        #expect(status.agentFigure("vm_peak_kb") < 45_056)
        // A band or a stripe may be mapped at the moment.
        #expect(status.agentFigure("vm_size_kb") <= before.agentFigure("vm_size_kb") + 512)
        #expect(
          status.agentFigure("encoder_allocations") == before.agentFigure("encoder_allocations"))
        #expect(status.agentFigure("frames_invalid") == 0)
        camera.end()
      }
    }

    @Test func `damaged JPEGs cost themselves alone, and a camera with no other has its own words`()
      throws
    {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let file = URL(filePath: #filePath).deletingLastPathComponent()
          .deletingLastPathComponent().appending(path: "Fixtures/jpeg")
        func jpeg(_ name: String) throws -> [UInt8] {
          Array(try Data(contentsOf: file.appending(path: "\(name).jpg")))
        }
        let whole = try jpeg("plain")
        let damaged = [
          try jpeg("progressive"), Array(whole.prefix(900)), [0xff, 0xd8],
          [UInt8](repeating: 0, count: 3000), whole.map { $0 ^ 1 },
        ]
        let camera = PaintedCamera(
          "jpegs", in: desk.environment["XDG_RUNTIME_DIR"] ?? "", width: 75, height: 53,
          jpegs: damaged.flatMap { [$0, whole] })
        let broadcast = try Broadcast(
          in: directory, scripted: desk, agent: ["--source", "camera:jpegs"])
        try broadcast.waitUntilLive()
        func wait(for figure: String, past count: Int) throws {
          try waitUntil(
            "\(count) of \(figure)", within: .seconds(15),
            isTrue: { (broadcast.status?.agentFigure(figure) ?? 0) > count })
        }
        try wait(for: "frames_invalid", past: 10)
        try wait(for: "frames_encoded", past: 10)
        let before = try #require(broadcast.status)
        try wait(for: "frames_invalid", past: before.agentFigure("frames_invalid") + 15)
        let after = try #require(broadcast.status)
        #expect(after.agentPID == before.agentPID)
        #expect(after.agentFigure("vm_size_kb") <= before.agentFigure("vm_size_kb") + 64)
        camera.give(damaged)
        try waitUntil(
          "the end", within: .seconds(15),
          isTrue: {
            broadcast.status?.lastDeath.contains("the camera gives no pictures that can be decoded")
              == true
          })
        camera.give([whole])
        try waitUntil(
          "a picture again", within: .seconds(15),
          isTrue: { broadcast.status?.state == "live" && broadcast.agentPID != before.agentPID })
        camera.end()
      }
    }

    /// A camera that shows bars, which the portal gives, is live as the source.
    private func withBars(
      _ format: String, size: (Int, Int), coder: [String] = [], agent: [String],
      body: (TestDirectory, ScriptedDesk, ProcessRun, Broadcast) throws -> Void
    ) throws {
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let camera = try desk.camera("bars", format: format, size: size, coder: coder)
        let broadcast = try Broadcast(
          in: directory, scripted: desk, agent: ["--source", "camera:bars"] + agent)
        try broadcast.waitUntilLive()
        try body(directory, desk, camera, broadcast)
      }
    }

    private static let patches: [UInt32] = [
      0x000000, 0xffffff, 0x808080, 0xebebeb, 0xff0000, 0x00ff00, 0x0000ff, 0xffff00,
    ]

    private func camera(_ name: String, on desktop: DesktopSession) -> PaintedCamera {
      PaintedCamera(
        name, in: desktop.environment["XDG_RUNTIME_DIR"] ?? "", width: 640, height: 480,
        picture: PaintedPicture(width: 640, height: 480) { x, y in
          Self.patches[x / 160 + y / 240 * 4]
        })
    }

    /// The page shows the patches in a corner; `width` is the corner's word for how wide its picture is. Greys
    /// are the same in either standard.
    private func expectPatches(in corner: String, width: String, on page: Browser) throws {
      try page.wait(until: "\(corner)?.\(width) === 640 && !\(corner).hidden")
      try waitUntil(
        "the camera on the page",
        isTrue: {
          let seen = try page.colours(of: corner, x: [80, 240, 400, 560], y: 120)
          return zip(seen, [0, 255, 128, 235]).allSatisfy { seen, grey in
            seen.distance(to: .init(red: grey, green: grey, blue: grey)) <= 3
          }
        })
    }

    /// The corner may be put away, and comes back.
    private func expectSwitch(
      of corner: String, isOff: String, isOn: String, on page: Browser
    ) throws {
      for state in ["\(corner).hidden && \(isOff)", "!\(corner).hidden && \(isOn)"] {
        try page.evaluate("document.getElementById('show-camera').click()")
        try page.wait(until: state)
      }
    }

    /// On plain HTTP from elsewhere the corner is a video, by Media Source Extensions.
    private func expectCameraWithoutWebCodecs(of broadcast: Broadcast) throws {
      let page = try Browser(try broadcast.page(at: Page.ownAddress()))
      let corner = "document.getElementById('camera-video')"
      try expectPatches(in: corner, width: "videoWidth", on: page)
      #expect(try page.evaluate("'VideoDecoder' in window") as? Bool == false)
      let time = try page.evaluate("\(corner).currentTime") as? Double ?? 0
      try page.wait(until: "\(corner).currentTime > \(time + 0.5)")
      try expectSwitch(
        of: corner, isOff: "!\(corner).src", isOn: "\(corner).videoWidth === 640", on: page)
    }

    private func waitForCamera(_ state: String, of broadcast: Broadcast) throws {
      try waitUntil(
        "camera \(state)", within: .seconds(15), isTrue: { broadcast.status?.camera.state == state }
      )
    }

    @Test
    func `a camera and both sounds beside 1080p are streams of their own, within the memory limit`()
      throws
    {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        for thing in ["window=counter", "speakers", "microphone"] { try desktop.show(thing) }
        let first = camera("patches", on: desktop)
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--camera=patches", "--audio", "both"],
          anywhere: true)
        try broadcast.waitUntilLive()
        try broadcast.waitForSounds(["app": "on", "mic": "on"])
        try waitForCamera("on", of: broadcast)

        let picture = try RGBPicture(of: "\(broadcast.page)/camera.ts", in: directory)
        #expect(picture.width == 640 && picture.height == 480)
        for (index, color) in Self.patches.enumerated() {
          for (x, y) in [(20, 20), (80, 120), (140, 220)] {
            let distance = picture.distance(
              x: index % 4 * 160 + x, y: index / 4 * 240 + y, from: color)
            #expect(distance <= 3, "patch \(index), \(x) \(y)")
          }
        }
        let player = try Player(broadcast.liveTS, in: directory)
        let counter = try player.waitForCounter(past: 0, within: .seconds(5))
        try player.waitForCounter(past: counter + 60, within: .seconds(10))

        let page = try Browser(broadcast.page)
        let corner = "document.getElementById('camera')"
        try expectPatches(in: corner, width: "width", on: page)
        try page.shot("camera", in: directory)
        try expectSwitch(of: corner, isOff: "true", isOn: "true", on: page)
        try expectCameraWithoutWebCodecs(of: broadcast)

        // Who joins late begins each stream at its keyframe.
        let consumer = try ScriptedPeer.consumer(of: broadcast.consumers)
        var last: [UInt32: Int64] = [:]
        var count: [UInt32: Int] = [:]
        try consumer.receive("fifty packets of each stream") { raw -> Void? in
          guard raw.header.kind == .packet else { return nil }
          let stream = raw.header.stream
          if last[stream] == nil, stream <= 2 {
            #expect(raw.header.flags.contains(.keyframe), "stream \(stream)")
          }
          #expect(raw.header.pts > last[stream] ?? .min, "stream \(stream)")
          last[stream] = raw.header.pts
          count[stream, default: 0] += 1
          return (1...4).allSatisfy { count[$0] ?? 0 >= 50 } ? () : nil
        }

        let agent = try #require(broadcast.agentPID)
        let figures = try ProcessFootprint(of: agent)
        print("1080p, camera, both sounds: \(figures)")
        #expect(figures.peakSizeKB < 50_000)
        #expect(broadcast.status?.agentFigure("memory_step") == 0)

        first.hold(true)
        try waitForCamera("lost", of: broadcast)
        #expect(broadcast.status?.camera.text == "the camera gives no pictures")
        first.hold(false)
        try waitForCamera("on", of: broadcast)
        first.end()
        try waitForCamera("lost", of: broadcast)
        #expect(broadcast.status?.camera.text == "the camera is gone")
        #expect(broadcast.status?.state == "live")
        let second = camera("patches", on: desktop)
        try waitForCamera("on", of: broadcast)
        #expect(broadcast.agentPID == agent)
        second.end()
      }
    }

    @Test func `a camera that does not fit is off, with the sum, and the screen goes on`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(
          in: directory, agent: ["--camera", "--memory-limit", "36MiB", "--size", "1920x1080"])
        try broadcast.waitUntilLive()
        try waitForCamera("lost", of: broadcast)
        #expect(
          broadcast.status?.camera.text.hasPrefix("the memory plan does not fit: ") == true)
        let plan = [
          "--explain-memory", "--va-display", "none", "--camera", "--audio", "both", "--size",
        ]
        for (size, code) in [("1920x1080", Int32(0)), ("3840x2160", 86)] {
          let run = try ProcessRun.run(
            program("capture-agent"), plan + [size], name: "plan", in: directory)
          #expect(run.exitCode == code)
          #expect(run.output.contains("camera: NV12 surface: 3 x 450 kB = 1350 kB"))
        }
      }
    }
  }
}
