import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// The page at `/`, in a real browser.
  @Suite struct Pages {
    private static let state = "document.getElementById('state').dataset.state"
    private static let canvas = "document.getElementById('canvas')"

    /// The mean of red, green and blue in the middle of the grey bar, which nothing moves over.
    private static let grey = """
      (() => {
        const canvas = \(canvas), [x, y] = [canvas.width * 15 / 16, canvas.height / 4];
        return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3);
      })()
      """

    /// Counts what is drawn from now on.
    private static let count = """
      (() => {
        const draw = CanvasRenderingContext2D.prototype.drawImage;
        window.drawn = 0;
        CanvasRenderingContext2D.prototype.drawImage = function (...words) {
          window.drawn += 1;
          return draw.apply(this, words);
        };
      })()
      """

    @Test
    func `a page plays, through an agent's death too, and says what becomes of the broadcast`()
      throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.wait(until: "document.readyState === 'complete' && \(Self.canvas)?.width === 640")
        try page.evaluate(Self.count)
        try page.wait(until: "window.drawn > 20")
        #expect(try page.evaluate("\(Self.canvas).height") as? Int == 360)
        let grey = try #require(page.evaluate(Self.grey) as? [Int])
        #expect(grey.allSatisfy { abs($0 - 64) <= 3 }, "\(grey)")

        let agent = try #require(broadcast.agentPID)
        kill(agent, SIGKILL)
        try waitUntil(
          "another agent", isTrue: { broadcast.agentPID.map { $0 != agent } ?? false })
        try page.evaluate("window.drawn = 0")
        try page.wait(until: "window.drawn > 20 && \(Self.state) === 'live'")

        // What the buttons do, by the buttons.
        try page.evaluate("document.getElementById('pause').click()")
        let paused = try page.wait(until: "\(Self.state) === 'paused'")
        print("paused shown after \(paused) ms")
        try page.wait(until: "document.getElementById('cover').textContent.includes('paused')")
        try broadcast.control("resume")
        try page.wait(until: "\(Self.state) === 'live'")
        try page.evaluate("window.drawn = 0")
        try page.wait(until: "window.drawn > 5")

        try broadcast.control("finish", "the talk is over")
        try page.wait(
          until: """
            \(Self.state) === 'finished'
            && document.getElementById('cover').textContent.includes('the talk is over')
            """)
        #expect(try page.evaluate("document.getElementById('control').hidden") as? Bool == true)
      }
    }

    @Test func `without WebCodecs the page plays by Media Source Extensions`() throws {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x360"])
        try broadcast.waitUntilLive()
        let page = try Browser(broadcast.page)
        try page.wait(until: "document.readyState === 'complete' && \(Self.canvas)?.width === 640")
        try page.evaluate(
          """
          (() => {
            const player = document.getElementById('player');
            player.value = 'source';
            player.onchange({ target: player });
          })()
          """)
        let video = "document.getElementById('video')"
        try page.wait(until: "\(video).videoWidth === 640 && \(video).currentTime > 0.5")
        let begin = try #require(page.evaluate("\(video).currentTime") as? Double)
        try page.wait(until: "\(video).currentTime > \(begin + 0.5)")
        #expect(
          try page.evaluate("\(video).getVideoPlaybackQuality().corruptedVideoFrames") as? Int == 0)
      }
    }
  }
}
