import CaptureSupport
import Glibc
import Pixels
import Posix
import TestSupport
import Testing

@testable import CaptureAgent
@testable import PipeWire

/// What a node's pictures become, with a real daemon and session manager between the two ends.
@Suite(.serialized, .timeLimit(.minutes(2))) struct NodeCaptureTests {
  @Test func `rows are read where stride and offset say, and nothing else is`() throws {
    try withScreen { scene, screen, _ in
      try scene.run(until: "a frame", step: { screen.present(.init(color: 0x0a00_0000)) }) {
        !scene.seen.isEmpty
      }
      let frame = try #require(scene.seen.first)
      #expect([frame.width, frame.height] == [320, 200])
      #expect(frame.column == (0..<200).map { 0x0a00_0000 + UInt32($0 << 12) })
      #expect(scene.sizes.first == [320, 200])
    }
  }

  @Test func `a crop moves the first pixel and the size, and damage is counted from it`() throws {
    try withScreen { scene, screen, _ in
      let crop = Rectangle(x: 40, y: 30, width: 100, height: 50)
      let damage = [
        Rectangle(x: 50, y: 40, width: 4, height: 4), Rectangle(x: 60, y: 50, width: 2, height: 2),
      ]
      try scene.run(
        until: "two frames", step: { screen.present(.init(crop: crop, damage: damage)) }
      ) { scene.seen.count >= 2 }
      let frame = scene.seen[1]
      #expect([frame.width, frame.height] == [100, 50])
      #expect(frame.column == (30..<80).map { UInt32($0 << 12) + 40 })
      #expect(scene.seen[0].damage == nil, "nothing was seen before the first frame")
      #expect(frame.damage == Rectangle(x: 10, y: 10, width: 12, height: 12))
    }
  }

  @Test(arguments: [
    ScreenProducer.Picture(chunkFlags: 1), .init(size: 0), .init(stride: 320 * 4 - 4),
    .init(stride: -1280), .init(offset: 1 << 20), .init(size: .max), .init(size: 100_000),
  ])
  func `a buffer that holds no whole picture is counted and given back`(
    _ broken: ScreenProducer.Picture
  ) throws {
    try withScreen { scene, screen, _ in
      var sent = 0
      try scene.run(
        until: "rejections", step: { if screen.present(broken) { sent += 1 } }
      ) { scene.counts.rejected >= 6 }
      #expect(scene.seen.isEmpty)
      try scene.run(until: "a frame", step: { screen.present(.init()) }) { !scene.seen.isEmpty }
    }
  }

  @Test func `a hundred frames pass through two or three buffers, in order`() throws {
    try withScreen { scene, screen, _ in
      try scene.run(until: "100 frames", step: { screen.present(.init()) }) {
        scene.seen.count >= 100
      }
      #expect(zip(scene.seen, scene.seen.dropFirst()).allSatisfy { $0.pts < $1.pts })
      #expect(scene.end == nil)
    }
  }

  // One that insisted on more than eight used to find no agreement.
  @Test(arguments: [(2...16, 3), (10...64, 8), (16...16, 16)])
  func `a producer is asked for three buffers, and may insist on sixteen`(
    may: ClosedRange<Int32>, has: Int
  ) throws {
    try withScreen(buffers: may) { scene, screen, _ in
      try scene.run(until: "forty frames", step: { screen.present(.init()) }) {
        scene.seen.count >= 40
      }
      #expect(screen.bufferCount == has)
      #expect(scene.counts.rejected == 0)
    }
  }

  @Test func `a new size is announced and captured, and a frame of the old one stays readable`()
    throws
  {
    try withScreen { scene, screen, _ in
      scene.keepsFrame = true
      try scene.run(until: "a frame to keep", step: { screen.present(.init(color: 0x7700_0000)) }) {
        scene.kept != nil
      }
      try screen.resize(width: 160, height: 120)
      try scene.run(until: "a smaller frame", step: { screen.present(.init()) }) {
        scene.seen.last?.width == 160
      }
      #expect(scene.sizes == [[320, 200], [160, 120]])
      var first: UInt32 = 0
      try scene.kept?.withRows(0..<1) { first = $0.loadUnaligned(as: UInt32.self) }
      #expect(first == 0x7700_0000)
      #expect(scene.end == nil)
    }
  }

  @Test func `a still screen is alive without a frame`() throws {
    try withScreen { scene, _, _ in
      try scene.run(until: "a format") { !scene.sizes.isEmpty }
      // Longer than a stream without buffers is borne with.
      let end = MonotonicClock.now() + 2_000_000_000
      try scene.run(until: "two seconds") { MonotonicClock.now() > end }
      #expect(scene.isAlive)
      #expect(scene.seen.isEmpty)
    }
  }

  // A session manager links a stream that lost its node to the next best one: a camera's picture
  // would be broadcast as the screen's.
  @Test func `no camera takes the place of a screen that went away`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      let both = try ScreenBesideCamera(on: daemon, loop: scene.loop)
      try scene.start(node: "test-screen", of: daemon)
      try scene.run(until: "a frame", step: both.present) { !scene.seen.isEmpty }
      both.screen = nil
      try scene.run(until: "the end", step: both.present) { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      // Time enough for a session manager to change its mind.
      let end = MonotonicClock.now() + 1_000_000_000
      try scene.run(until: "a second", step: both.present) { MonotonicClock.now() > end }
      #expect(scene.seen.allSatisfy { $0.width == 320 })
      #expect(scene.sizes == [[320, 200]])
      #expect(!scene.isAlive)
    }
  }

  // The same one station below, where nobody looks at the node: the stream alone must not move.
  @Test func `a stream that lost its node takes no other's pictures`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      let both = try ScreenBesideCamera(on: daemon, loop: scene.loop)
      let connection = try Connection(loop: scene.loop, fd: daemon.connect())
      // The daemon has named nodes of its own.
      try scene.run(until: "both nodes") {
        Set(connection.nodes.compactMap(\.name)).isSuperset(of: ["test-camera", "test-screen"])
      }
      let node = try #require(connection.nodes.first { $0.name == "test-screen" })
      let record = StreamRecord()
      let stream = try Stream(
        connection: connection, loop: scene.loop, name: "test", observer: record)
      try stream.connect(to: node, frameRate: 30)
      try scene.run(until: "a picture", step: both.present) { record.pictureCount > 0 }
      both.screen = nil
      try scene.run(until: "the end", step: both.present) { record.end != nil }
      // Time enough for a session manager to change its mind.
      let end = MonotonicClock.now() + 1_000_000_000
      try scene.run(until: "a second", step: both.present) { MonotonicClock.now() > end }
      #expect(record.end == .unlinked)
      #expect(record.widths.allSatisfy { $0 == 320 })
    }
  }

  // A loop that nobody had entered let the data thread run the callbacks itself, between two runs
  // and on the way out.
  @Test func `pictures that come while the loop does not run wait for it`() throws {
    try withScreen { scene, screen, _ in
      try scene.run(until: "a frame", step: { screen.present(.init()) }) { !scene.seen.isEmpty }
      var before = scene.counts
      var isSent = false
      let send = {
        before = scene.counts
        isSent = screen.present(.init())
      }
      try scene.run(until: "a free buffer", step: send) { isSent }
      // The data thread needs no loop of ours to see the picture.
      _ = poll(nil, 0, 100)
      #expect(scene.counts == before)
      try scene.run(until: "the picture") { scene.counts.taken > before.taken }
    }
  }

  @Test func `a daemon that dies is named as what is missing`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      let screen = try ScreenProducer(
        loop: scene.loop, remote: daemon.connect(), name: "test-screen", role: "Screen",
        width: 320, height: 200)
      try scene.start(node: "test-screen", of: daemon)
      try scene.run(until: "a frame", step: { screen.present(.init()) }) { !scene.seen.isEmpty }
      daemon.daemon.signal(SIGKILL)
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(scene.end?.text == "PipeWire's daemon is gone")
    }
  }

  @Test func `a node that is not there is named`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      try scene.startAtOnce(node: "nobody", of: daemon)
      try scene.run(until: "the end") { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(scene.end?.text.contains("nobody") == true)
    }
  }

  // PipeWire 0.3.65 forgets what a consumer held that left: each round has a producer of its own.
  // In a process of its own: the tests beside it open descriptors too.
  @Test func `twenty starts and stops leave no descriptor behind`() async {
    await #expect(processExitsWith: .success) {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let scene = try CaptureScene()
        var before = 0
        for round in 0..<20 {
          if round == 2 { before = openDescriptors() }
          let screen = try ScreenProducer(
            loop: scene.loop, remote: daemon.connect(), name: "screen-\(round)", role: "Screen",
            width: 320, height: 200)
          try scene.start(node: "screen-\(round)", of: daemon)
          let count = scene.seen.count
          try scene.run(until: "a frame", step: { screen.present(.init()) }) {
            scene.seen.count > count
          }
          scene.stop()
        }
        #expect(before > 0)
        #expect(openDescriptors() <= before)
      }
    }
  }

  @Test func `what a picture says of its turn is undone`() throws {
    try withScreen { scene, screen, _ in
      for transformation in UInt32(0)..<8 {
        let wanted = Orientation(undoing: transformation)
        try scene.run(
          until: "a turned frame", step: { screen.present(.init(transformation: transformation)) }
        ) { scene.seen.last?.orientation == wanted }
      }
    }
  }

  @Test
  func `what cannot be read is dropped and nothing else, down to memory that anyone can map`()
    throws
  {
    let tiled: UInt64 = 1 << 56 | 1
    let choices = [(PixelFormat.bgrx, tiled), (.bgrx, 0), (.rgbx, tiled), (.rgbx, 0)].map {
      DMABufChoice(format: $0, modifier: $1)
    }
    try withScreen(offering: choices, asking: [tiled, 0]) { scene, screen, _ in
      for (number, choice) in (choices + [nil]).enumerated() {
        let color = UInt32(number + 1) << 24
        try scene.run(until: "a frame", step: { screen.present(.init(color: color)) }) {
          guard let last = scene.seen.last, last.modifier == choice?.modifier,
            last.format == choice?.format ?? .bgrx
          else { return false }
          return last.column == (0..<200).map { color + UInt32($0 << 12) }
        }
        scene.source?.drop(choice)
      }
      #expect(scene.end == nil)
      #expect(scene.sizes == [[320, 200]])
    }
  }

  // BL-09: what a chunk's size says of a dma-buf is nothing, and of memory that there is no picture.
  @Test func `an empty chunk is a picture in a dma-buf, and none in memory`() throws {
    let linear = DMABufChoice(format: .bgrx, modifier: 0)
    try withScreen(offering: [linear], asking: [0]) { scene, screen, _ in
      let empty = ScreenProducer.Picture(color: 0x0b00_0000, size: 0)
      try scene.run(until: "a frame", step: { screen.present(empty) }) { !scene.seen.isEmpty }
      #expect(scene.seen[0].modifier == 0)
      #expect(scene.seen[0].column == (0..<200).map { 0x0b00_0000 + UInt32($0 << 12) })
      #expect(scene.counts.rejected == 0)
      scene.source?.drop(linear)
      // More than it has buffers: each comes back.
      try scene.run(until: "memory", step: { screen.present(empty) }) {
        scene.counts.rejected > 10
      }
      #expect(scene.seen.allSatisfy { $0.modifier == 0 })
      try scene.run(until: "a picture", step: { screen.present(.init()) }) {
        scene.seen.last?.modifier == nil
      }
    }
  }

  // The driver's own formats alone are asked for in dma-bufs: a screen of another has memory too, or ends.
  @Test(arguments: [PixelFormat.nv12, .i420, .yuy2])
  func `Y, Cb and Cr are never agreed on in dma-bufs`(_ format: PixelFormat) throws {
    for hasMemory in format == .nv12 ? [true, false] : [true] {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let scene = try CaptureScene()
        var offer = ScreenProducer.Offer()
        offer.format = format
        offer.devices = [DMABufChoice(format: format, modifier: 0)]
        offer.hasMemory = hasMemory
        let screen = try ScreenProducer(
          loop: scene.loop, remote: daemon.connect(), name: "test-screen", role: "Screen",
          width: 320, height: 200, offer: offer)
        try scene.start(node: "test-screen", of: daemon, modifiers: [0])
        let painted = PaintedPicture(width: 320, height: 200) { _, _ in 0x20_4060 }
        let present = { _ = screen.present(.init(painted: painted)) }
        if hasMemory {
          try scene.run(until: "a frame", step: present) { !scene.seen.isEmpty }
          #expect(scene.seen[0].modifier == nil && scene.seen[0].format == format)
        } else {
          try scene.run(until: "the end", within: .seconds(15), step: present) {
            scene.end != nil
          }
          #expect(scene.end?.code == .unavailable && scene.seen.isEmpty)
          #expect(scene.end?.text.contains("NV12, I420 or YUY2") == true)
        }
      }
    }
  }

  @Test func `a producer without dma-bufs gives memory that anyone can map`() throws {
    try withScreen(offering: [], asking: [0]) { scene, screen, _ in
      try scene.run(until: "a frame", step: { screen.present(.init()) }) { !scene.seen.isEmpty }
      #expect(scene.seen[0].modifier == nil)
    }
  }

  private func withScreen(
    buffers: ClosedRange<Int32> = 2...16, offering devices: [DMABufChoice] = [],
    asking: [UInt64] = [],
    _ body: (CaptureScene, ScreenProducer, PipeWireDaemon) throws -> Void
  ) throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      var offer = ScreenProducer.Offer()
      offer.devices = devices
      let screen = try ScreenProducer(
        loop: scene.loop, remote: daemon.connect(), name: "test-screen", role: "Screen",
        width: 320, height: 200, bufferCounts: buffers, offer: offer)
      try scene.start(node: "test-screen", of: daemon, modifiers: asking)
      try body(scene, screen, daemon)
      scene.stop()
    }
  }
}

private func openDescriptors() -> Int {
  guard let folder = opendir("/proc/self/fd") else { return 0 }
  defer { closedir(folder) }
  var count = 0
  while readdir(folder) != nil { count += 1 }
  return count
}

/// A screen of 320x200 that may go, and a camera of 640x480 that could be taken for it.
private final class ScreenBesideCamera {
  var screen: ScreenProducer?
  private let camera: ScreenProducer

  init(on daemon: PipeWireDaemon, loop: Loop) throws {
    camera = try ScreenProducer(
      loop: loop, remote: daemon.connect(), name: "test-camera", role: "Camera", width: 640,
      height: 480)
    screen = try ScreenProducer(
      loop: loop, remote: daemon.connect(), name: "test-screen", role: "Screen", width: 320,
      height: 200)
  }

  func present() {
    _ = camera.present(.init())
    _ = screen?.present(.init())
  }
}

/// Keeps what a stream told.
private final class StreamRecord: StreamObserver {
  private(set) var widths: [Int] = []
  private(set) var pictureCount = 0
  private(set) var end: StreamEnd?

  func streamAgreed(on format: VideoFormat) { widths.append(format.width) }

  func streamTook(_ lease: consuming BufferLease, _ layout: PictureLayout) {
    widths.append(layout.width)
    pictureCount += 1
  }

  func streamEnded(_ end: StreamEnd) { self.end = end }
}
