import CaptureSupport
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// The page at `/`, in real browsers.
  @Suite struct Pages {
    @Test
    func `a page plays, hides, reconnects, and says within 300 ms what becomes of the broadcast`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.waitForPictures(20, width: 640)
        #expect(try page.evaluate("\(Page.canvas).height") as? Int == 360)
        try page.shot("live", in: directory)

        // A hidden tab takes no pictures; one that comes back goes on at a keyframe.
        try page.evaluate(Page.hide(true))
        try page.wait(until: "(await \(Page.drawnIn(milliseconds: 300))) === 0")
        try page.evaluate(Page.hide(false))
        try page.waitForPictures(5, width: 640)

        // What the buttons do, by the buttons.
        var times: [Double] = []
        for round in 1...3 {
          for state in ["paused", "live"] {
            times.append(
              try page.time(of: "document.getElementById('pause').click()", until: state))
            if round == 1, state == "paused" {
              try page.wait(until: "\(Page.cover).includes('paused')")
              try page.shot("paused", in: directory)
            }
          }
        }
        print("pause and resume shown after \(times.map { Int($0) }) ms")
        #expect(times.sorted()[times.count / 2] < 300)
        try page.waitForPictures(5, width: 640)

        broadcast.relay.signal(SIGKILL)
        try page.wait(until: "\(Page.state) === 'lost'")
        try page.shot("lost", in: directory)
        try broadcast.startRelayAgain()
        try page.waitForPictures(5, width: 640)

        try page.evaluate("document.getElementById('finish').click()")
        try page.shot("finish", in: directory)
        try page.evaluate("document.getElementById('reason').value = 'the talk is over'")
        let finished = try page.time(
          of: "document.querySelector('#sure [value=finish]').click()", until: "finished")
        print("finish shown after \(Int(finished)) ms")
        #expect(finished < 300)
        try page.wait(until: "\(Page.cover).includes('the talk is over')")
        #expect(try page.evaluate("document.getElementById('control').hidden") as? Bool == true)
        try page.shot("finished", in: directory)
      }
    }

    @Test func `a pause that the agent began is shown with its reason, and ended on the page`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let page = try Browser(broadcast.page)
        try page.waitForPictures(5, width: 640)
        kill(agent, SIGUSR1)
        try page.wait(until: "\(Page.cover).includes('by a signal')")
        #expect(try page.evaluate(Page.state) as? String == "paused")
        try page.shot("paused-by-signal", in: directory)
        try page.evaluate("document.getElementById('pause').click()")
        try page.waitForPictures(5, width: 640)
      }
    }

    // BL-08: the last whole picture stays, and looks like a screen on which nothing moves.
    @Test func `a screen that gives nothing but broken pictures is told of while it does`() throws {
      try withDrawnScreen(size: (640, 360)) { screen, broadcast, directory in
        let page = try Browser(broadcast.page)
        try page.waitForPictures(5, width: 640)
        screen.change {
          $0.picture = {
            var picture = ScreenProducer.Picture(NumberedPicture(number: $0))
            picture.headerFlags = 2
            return picture
          }
        }
        let words = "document.getElementById('heard').textContent"
        try page.wait(until: "\(words) === 'Screen lost: its source gives no whole pictures'")
        #expect(try page.evaluate(Page.state) as? String == "live")
        try page.shot("broken", in: directory)
        screen.change { $0.picture = { .init(NumberedPicture(number: $0)) } }
        try page.wait(until: "\(words) === ''")
        try page.waitForPictures(5, width: 640)
      }
    }

    @Test func `ten killed agents leave a page playing, on the connection that it has`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.waitForPictures(5, width: 640)
        try page.evaluate(
          """
          (() => {
            const Former = WebSocket;
            window.sockets = 0;
            window.WebSocket = class extends Former {
              constructor(...words) { super(...words); window.sockets += 1; }
            };
          })()
          """)
        for round in 1...10 {
          let agent = try waitUntil("an agent") { broadcast.agentPID }
          kill(agent, SIGKILL)
          // The fifth death in ten seconds is a crash loop, and the next start waits.
          if round == 5 {
            try page.wait(until: "\(Page.state) === 'interrupted'")
            try page.shot("interrupted", in: directory)
          }
          try waitUntil("another agent") { broadcast.agentPID.map { $0 != agent } ?? false }
          try page.wait(until: "\(Page.state) === 'live'")
          try page.waitForPictures(5, width: 640)
        }
        #expect(try page.evaluate("window.sockets") as? Int == 0)
      }
    }

    @Test func `without WebCodecs a page plays by Media Source Extensions`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.waitForPictures(5, width: 640)
        try page.playByMediaSource(width: 640)
      }
    }

    @Test
    func `the page says where the broadcast goes, and recordings are played and deleted there`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(
          in: directory, agent: ["--size", "640x360"],
          relay: ["--record", directory.file("talk.mp4"), "--push", directory.file("side.ts")])
        try broadcast.waitUntilLive()
        try waitUntil("a recording", within: .seconds(20)) {
          let recording = broadcast.status?.json["recording"] as? [String: Any]
          return recording?["state"] as? String == "recording"
            && recording?["bytes"] as? Int ?? 0 > 0
        }
        // What is being written cannot be deleted; the next relay writes another.
        broadcast.relay.signal(SIGTERM)
        try broadcast.relay.waitForEnd()
        try broadcast.startRelayAgain()
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.wait(
          until: "document.getElementById('goes')?.textContent.includes('1 of 1 push live')")
        try page.evaluate("document.getElementById('open').click()")
        let rows = "[...document.querySelectorAll('[data-part=recordings] li')]"
        try page.wait(until: "\(rows).length === 2")
        try page.wait(
          until: "document.querySelectorAll('[data-part=outputs] .recording').length === 1")
        let old = "\(rows).find((row) => !row.innerText.includes('being written'))"
        try page.evaluate("\(old).querySelector('button').click()")
        let video = "document.querySelector('[data-part=replay]')"
        try page.wait(until: "\(video).videoWidth === 640 && \(video).duration > 0.5")
        try page.shot("outputs", in: directory)
        for click in ["Delete", "Really delete?"] {
          try page.evaluate(
            "[...\(old).querySelectorAll('button')].find((one) => one.innerText === '\(click)').click()"
          )
        }
        try page.wait(until: "\(rows).length === 1")
        #expect(
          try page.evaluate("\(rows)[0].innerText.includes('being written')") as? Bool == true)
      }
    }

    @Test func `another user is let in with the viewer key only, and who is early reads so`() throws
    {
      try withTestDirectory { directory in
        try #require(getuid() == 0, "only root can be somebody else")
        let relay = try RelayRun(
          ["--agent", "127.0.0.1:1"], in: directory, program: program("host-relay"))
        defer { relay.process.end() }
        let page = try Browser("http://\(relay.http)/#key=00000000", as: 65534)
        try page.wait(until: "\(Page.state) === 'refused'")
        try page.shot("refused", in: directory)
        // Another key alone would only load the page anew, and some time later.
        try page.go(to: "about:blank")
        try page.go(to: "http://\(relay.http)/#key=\(relay.viewerKey)")
        try page.wait(until: "\(Page.state) === 'waiting'")
        try page.shot("waiting", in: directory)
        // It watches, and has nothing to steer with.
        #expect(try page.evaluate("document.getElementById('control').hidden") as? Bool == true)
      }
    }
  }
}
