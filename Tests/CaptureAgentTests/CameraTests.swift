import Testing

@testable import CaptureAgent
@testable import PipeWire

/// Which camera, and which of its ways: docs/camera.md.
struct CameraTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let modes: [CameraMode]
    var size = FrameSize(1280, 720)
    var isSizeAsked = true
    var rate = 30
    /// nil: nothing that can be read.
    let best: CameraFormat?
    var testDescription: String { name }
  }

  private static func mode(
    _ pixel: PixelFormat, _ sizes: [(Int, Int)], _ rates: [(Int, Int)] = [(30, 1)]
  ) -> CameraMode {
    CameraMode(
      picture: .read(pixel), sizes: .these(sizes.map { FrameSize($0.0, $0.1) }),
      rates: .these(rates.map { FrameRate($0.0, $0.1) }))
  }

  private static func format(
    _ pixel: PixelFormat, _ width: Int, _ height: Int, _ rate: (Int, Int) = (30, 1)
  ) -> CameraFormat {
    CameraFormat(
      pixel: pixel, size: FrameSize(width, height), rate: FrameRate(rate.0, rate.1))
  }

  static let ntsc = (30_000, 1001)

  static let cases: [Case] = [
    Case(
      name: "the size that is asked for",
      modes: [mode(.nv12, [(640, 480), (1280, 720), (1920, 1080)])],
      best: format(.nv12, 1280, 720)),
    Case(
      name: "else the smallest that covers it",
      modes: [mode(.nv12, [(640, 480), (1600, 1200), (1920, 1080)])],
      best: format(.nv12, 1600, 1200)),
    Case(
      name: "else the largest", modes: [mode(.nv12, [(320, 240), (640, 480), (640, 360)])],
      best: format(.nv12, 640, 480)),
    Case(
      name: "a size that is asked for goes before the rate",
      modes: [mode(.yuy2, [(1280, 720)], [(5, 1)]), mode(.yuy2, [(640, 480)])],
      best: format(.yuy2, 1280, 720, (5, 1))),
    Case(
      name: "a rate that is reached goes before a size that nobody asked for",
      modes: [mode(.yuy2, [(1280, 720)], [(5, 1)]), mode(.yuy2, [(640, 480)])], isSizeAsked: false,
      best: format(.yuy2, 640, 480)),
    Case(
      name: "the rate that is asked for",
      modes: [mode(.nv12, [(1280, 720)], [(15, 1), (30, 1), (60, 1)])],
      best: format(.nv12, 1280, 720)),
    Case(
      name: "29.97 is what 30 means",
      modes: [mode(.nv12, [(1280, 720)], [(25, 1), ntsc, (60, 1)])],
      best: format(.nv12, 1280, 720, ntsc)),
    Case(
      name: "30 before 29.97", modes: [mode(.nv12, [(1280, 720)], [ntsc, (30, 1)])],
      best: format(.nv12, 1280, 720)),
    Case(
      name: "59.94 is what 60 means",
      modes: [mode(.nv12, [(1280, 720)], [(30, 1), (60_000, 1001)])],
      rate: 60, best: format(.nv12, 1280, 720, (60_000, 1001))),
    Case(
      name: "29 is not what 30 means", modes: [mode(.nv12, [(1280, 720)], [(29, 1), (31, 1)])],
      best: format(.nv12, 1280, 720, (31, 1))),
    Case(
      name: "else the next faster rate",
      modes: [mode(.nv12, [(1280, 720)], [(15, 1), (50, 1), (60, 1)])],
      best: format(.nv12, 1280, 720, (50, 1))),
    Case(
      name: "else the fastest", modes: [mode(.nv12, [(1280, 720)], [(15, 2), (15, 1), (10, 1)])],
      best: format(.nv12, 1280, 720, (15, 1))),
    Case(
      name: "a rate of which nothing is said", modes: [mode(.nv12, [(1280, 720)], [(0, 1)])],
      best: format(.nv12, 1280, 720, (0, 1))),
    Case(
      name: "NV12 before YUY2 before RGB",
      modes: [mode(.bgrx, [(1280, 720)]), mode(.yuy2, [(1280, 720)]), mode(.nv12, [(1280, 720)])],
      best: format(.nv12, 1280, 720)),
    Case(
      name: "a size before a format",
      modes: [mode(.nv12, [(640, 480)]), mode(.bgrx, [(1280, 720)])],
      best: format(.bgrx, 1280, 720)),
    Case(
      name: "a range of sizes holds the wanted one",
      modes: [
        CameraMode(
          picture: .read(.i420), sizes: .range(FrameSize(32, 32), FrameSize(1920, 1080), step: nil),
          rates: .range(FrameRate(1), FrameRate(60), step: nil))
      ], best: format(.i420, 1280, 720)),
    Case(
      name: "a range in steps gives the next larger one",
      modes: [
        CameraMode(
          picture: .read(.i420),
          sizes: .range(FrameSize(160, 120), FrameSize(2560, 1920), step: FrameSize(160, 120)),
          rates: .range(FrameRate(1), FrameRate(ntsc.0, ntsc.1), step: nil))
      ], size: FrameSize(1000, 600), best: format(.i420, 1120, 600, ntsc)),
    Case(
      name: "a range that ends below gives its end",
      modes: [
        CameraMode(
          picture: .read(.i420), sizes: .range(FrameSize(32, 32), FrameSize(800, 600), step: nil),
          rates: .these([FrameRate(30)]))
      ], best: format(.i420, 800, 600)),
    Case(
      name: "pixels before JPEGs",
      modes: [mode(.mjpeg, [(1280, 720)]), mode(.bgrx, [(1280, 720)])],
      best: format(.bgrx, 1280, 720)),
    Case(
      name: "a size before pixels",
      modes: [mode(.mjpeg, [(1280, 720)]), mode(.nv12, [(640, 480)])],
      best: format(.mjpeg, 1280, 720)),
    Case(
      name: "a rate before pixels",
      modes: [mode(.mjpeg, [(1280, 720)]), mode(.yuy2, [(1280, 720)], [(10, 1)])],
      best: format(.mjpeg, 1280, 720)),
    Case(
      name: "what cannot be read is passed over",
      modes: [
        CameraMode(
          picture: .other("MJPEG"), sizes: .these([FrameSize(1280, 720)]),
          rates: .these([FrameRate(30)])), mode(.yuy2, [(640, 480)]),
      ], best: format(.yuy2, 640, 480)),
    Case(
      name: "impossible sizes are none",
      modes: [mode(.nv12, [(0, 720), (1 << 20, 1), (640, 480)])], best: format(.nv12, 640, 480)),
    Case(
      name: "nothing to read",
      modes: [
        CameraMode(
          picture: .other("H.264"), sizes: .these([FrameSize(1280, 720)]),
          rates: .these([FrameRate(30)]))
      ], best: nil),
  ]

  @Test("the best of a camera's ways", arguments: cases)
  func best(_ one: Case) {
    let wish = CameraWish(
      size: one.size, isSizeAsked: one.isSizeAsked, framesPerSecond: one.rate)
    #expect(CameraChoice.ranked(one.modes, for: wish).first == one.best)
    #expect(CameraChoice.ranked(one.modes.reversed(), for: wish).first == one.best)
  }

  @Test("the next best ways follow, each once")
  func ranked() {
    let wish = CameraWish(size: FrameSize(1280, 720), isSizeAsked: true, framesPerSecond: 30)
    let sizes = [(640, 480), (1280, 720)]
    let modes = [Self.mode(.mjpeg, sizes), Self.mode(.yuy2, sizes), Self.mode(.yuy2, sizes)]
    #expect(
      CameraChoice.ranked(modes, for: wish) == [
        Self.format(.yuy2, 1280, 720), Self.format(.mjpeg, 1280, 720), Self.format(.yuy2, 640, 480),
        Self.format(.mjpeg, 640, 480),
      ])
  }

  @Test("what there is, is listed in one line")
  func list() {
    let modes = [
      CameraMode(
        picture: .other("H.264"), sizes: .these([FrameSize(640, 480), FrameSize(1280, 720)]),
        rates: .these([FrameRate(30)])),
      CameraMode(
        picture: .other("MJPEG"), sizes: .range(FrameSize(1, 1), FrameSize(9, 9), step: nil),
        rates: .these([FrameRate(30)])),
    ]
    #expect(CameraChoice.list(modes) == "H.264 640x480/1280x720, MJPEG 1x1 to 9x9")
    #expect(CameraChoice.list([]) == "nothing")
  }

  private static let nodes: [Connection.Node] = [
    node(30, "xdg-desktop-portal-wlr", role: nil),
    node(31, "speakers", class: "Audio/Sink", role: nil),
    node(32, "screen", role: "Screen"),
    node(40, "front", title: "Front camera", priority: 900),
    node(41, "back", title: "Back camera", priority: 1000),
    node(42, "odd", title: nil, role: nil),
  ]

  private static func node(
    _ id: UInt32, _ name: String, class mediaClass: String = "Video/Source",
    title: String? = nil, role: String? = "Camera", priority: Int = 0
  ) -> Connection.Node {
    Connection.Node(
      id: id, serial: "\(id + 100)", name: name, mediaClass: mediaClass, title: title, role: role,
      isDevice: false, priority: priority)
  }

  @Test("a camera is meant by its name, its title or its serial, and never a screencast")
  func names() {
    for (word, id) in [
      (nil, 41), ("front", 40), ("Back camera", 41), ("142", 42), ("odd", 42),
      ("xdg-desktop-portal-wlr", nil), ("screen", nil), ("speakers", nil), ("40", nil),
    ] as [(String?, UInt32?)] {
      let wish = CameraWish(
        name: word, size: CameraWish.standardSize, isSizeAsked: false, framesPerSecond: 30)
      let found: UInt32? = wish.find(in: Self.nodes).map(\.id)
      #expect(found == id, "\(word ?? "none")")
    }
    let wish = CameraWish(
      name: "side", size: CameraWish.standardSize, isSizeAsked: false, framesPerSecond: 30)
    #expect(
      wish.absence(among: Self.nodes)
        == "no camera is called side: there is front (Front camera), back (Back camera), odd")
    #expect(wish.absence(among: []) == "no camera is connected")
  }
}
