import Glibc
import Posix
import TestSupport

/// What tests know of the page: its elements, and how to look at them.
enum Page {
  static let state = "document.getElementById('state')?.dataset.state"
  static let cover = "document.getElementById('cover').textContent"
  static let canvas = "document.getElementById('canvas')"
  static let video = "document.getElementById('video')"

  /// Counts what is drawn from now on, in `window.drawn`.
  static let count = """
    (() => {
      if (window.drawn !== undefined) return;
      const draw = CanvasRenderingContext2D.prototype.drawImage;
      window.drawn = 0;
      CanvasRenderingContext2D.prototype.drawImage = function (...words) {
        window.drawn += 1;
        return draw.apply(this, words);
      };
    })()
    """

  /// What a tab does that is hidden, or shown again.
  static func hide(_ isHidden: Bool) -> String {
    """
    (() => {
      Object.defineProperty(document, 'hidden', { value: \(isHidden), configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    })()
    """
  }

  /// A promise of how many pictures are drawn in that time.
  static func drawnIn(milliseconds: Int) -> String {
    """
    (async () => {
      const before = window.drawn;
      await new Promise((go) => setTimeout(go, \(milliseconds)));
      return window.drawn - before;
    })()
    """
  }

  /// An address of this machine that no browser takes for this machine.
  static func ownAddress() throws -> String {
    let wildcard = SocketAddress(bytes: [0, 0, 0, 0], port: 1)
    guard let own = LocalAddresses.reaching(wildcard).first(where: { !$0.isLoopback }) else {
      throw ProcessFailure(description: "this machine has no address but loopback")
    }
    return own.urlHost
  }
}

extension Browser {
  /// Waits until the page has drawn so many pictures more, of this width, and says that it is live.
  func waitForPictures(_ count: Int, width: Int) throws {
    try wait(
      until: "document.readyState === 'complete' && \(Page.canvas)?.width === \(width)")
    try evaluate(Page.count)
    try evaluate("window.drawn = 0")
    try wait(until: "window.drawn > \(count) && \(Page.state) === 'live'")
  }

  /// Milliseconds from an action to the state that it leads to.
  func time(of action: String, until state: String) throws -> Double {
    let took = try evaluate(
      """
      (async () => {
        const begin = performance.now();
        \(action);
        while (\(Page.state) !== '\(state)') await new Promise((go) => setTimeout(go, 1));
        return performance.now() - begin;
      })()
      """)
    return took as? Double ?? .infinity
  }

  /// Chooses the other player, and waits until it plays on.
  func playByMediaSource(width: Int) throws {
    try evaluate(
      """
      (() => {
        const player = document.getElementById('player');
        player.value = 'source';
        player.onchange({ target: player });
      })()
      """)
    try wait(until: "\(Page.video).videoWidth === \(width) && \(Page.video).currentTime > 0.5")
    guard let begin = try evaluate("\(Page.video).currentTime") as? Double else {
      throw ProcessFailure(description: "the video has no time")
    }
    try wait(until: "\(Page.video).currentTime > \(begin + 0.5)")
    guard
      try evaluate("\(Page.video).getVideoPlaybackQuality().corruptedVideoFrames ?? 0") as? Int == 0
    else { throw ProcessFailure(description: "pictures are corrupt") }
  }

  /// The colours that a canvas or a video shows at these places of row `y`.
  func colours(of picture: String, x: [Int], y: Int) throws -> [StillPicture.Colour] {
    let found = try evaluate(
      """
      (() => {
        const picture = \(picture);
        const copy = new OffscreenCanvas(
          picture.videoWidth ?? picture.width, picture.videoHeight ?? picture.height);
        const context = copy.getContext('2d');
        context.drawImage(picture, 0, 0);
        return \(x).map((x) => [...context.getImageData(x, \(y), 1, 1).data].slice(0, 3));
      })()
      """)
    return (found as? [[Int]] ?? []).map {
      StillPicture.Colour(red: $0[0], green: $0[1], blue: $0[2])
    }
  }
}
