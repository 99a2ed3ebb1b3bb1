import Foundation
import Posix
import TestSupport
import Testing

extension EndToEnd {
  /// What the page shows is what the desktop shows, on each of the ways to it.
  @Suite struct PageColours {
    @Test(arguments: [false, true])
    func `the desktop's colours are within 3 of 255 in a browser`(byTLS: Bool) throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory)
        try desktop.show("window=still")
        // Without a GPU Chromium converts with coefficients of eight bits, and BT.709's for blue (2.11)
        // does not fit: saturated colours are up to 10 off. BT.601's does.
        let broadcast = try Broadcast(
          in: directory, desktop: desktop, agent: ["--color", "bt601"],
          relay: byTLS ? ["--tls"] : [], anywhere: true)
        try broadcast.waitUntilLive()
        let screenshot = directory.file("screen.png")
        try desktop.screenshot(to: screenshot)
        let expected = try StillPicture(of: screenshot, name: "screenshot", in: directory)
        let own = try broadcast.page(at: Page.ownAddress())
        if byTLS {
          let digest = try CertificateKey.digest(of: broadcast.certificate, in: directory)
          let page = try Browser(own, trusting: digest)
          try page.wait(until: "\(Page.canvas)?.width === 1920")
          #expect(try page.evaluate("isSecureContext") as? Bool == true)
          try check(page, Page.canvas, against: expected)
          try page.shot("tls", in: directory)
        } else {
          // From another machine a page on plain HTTP has no WebCodecs; so has one that comes by this
          // machine's own address.
          let page = try Browser(broadcast.page)
          try page.wait(until: "\(Page.canvas)?.width === 1920")
          try check(page, Page.canvas, against: expected)
          try page.go(to: own)
          try page.wait(until: "\(Page.video)?.videoWidth === 1920")
          #expect(
            try page.evaluate("isSecureContext || 'VideoDecoder' in window") as? Bool == false)
          try check(page, Page.video, against: expected)
          try page.shot("media-source", in: directory)
        }
      }
    }

    /// Waits for the patches of scripts/desktop/picture.py to have their colours.
    private func check(
      _ page: Browser, _ picture: String, against expected: StillPicture
    ) throws {
      let wanted = (0..<8).map { expected.colour(x: 64 + $0 * 128 + 32, y: 920, side: 64) }
      var worst: [Int] = []
      _ = try? waitUntil("colours", within: .seconds(15)) {
        // A player that begins anew has no picture to copy for a moment.
        let places = (0..<8).map { 64 + $0 * 128 + 64 }
        guard let found = try? page.colours(of: picture, x: places, y: 952), found.count == 8 else {
          return false
        }
        worst = zip(found, wanted).map { $0.distance(to: $1) }
        return worst.allSatisfy { $0 <= 3 }
      }
      print("\(picture): colours off by \(worst) of 255")
      #expect(worst.count == 8 && worst.allSatisfy { $0 <= 3 }, "\(worst)")
    }
  }

  /// Another browser than Chromium.
  @Suite struct Firefox {
    @Test func `Firefox plays by WebCodecs and by Media Source Extensions, with sound`() throws {
      try withTestDirectory { directory in
        let desktop = try DesktopSession(in: directory, size: (640, 480))
        for thing in ["window=counter", "speakers"] { try desktop.show(thing) }
        let broadcast = try Broadcast(in: directory, desktop: desktop, agent: ["--audio", "app"])
        try broadcast.waitForSounds(["app": "on"])
        let page = try Browser(broadcast.page, in: .firefox)
        try page.waitForPictures(10, width: 640)
        try page.playByMediaSource(width: 640)
        try page.evaluate(
          "window.Audio = class extends Audio { constructor() { super(); window.voice = this; } }")
        try page.evaluate("document.getElementById('listen').click()")
        try page.wait(until: "window.voice?.currentTime > 1 && !window.voice.error")
        try page.shot("firefox", in: directory)
      }
    }
  }
}
