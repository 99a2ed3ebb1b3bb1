import CaptureSupport
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
      try withTestDirectory { directory in
        let desk = try ScriptedDesk(in: directory)
        let camera = try desk.camera("bars", format: "NV12", size: (641, 481))
        let broadcast = try Broadcast(
          in: directory, scripted: desk, agent: ["--source", "camera:bars", "--mirror"])
        try broadcast.waitUntilLive()
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
  }
}
