import CaptureSupport
import PipeWire
import Posix
import TestSupport
import Testing

@testable import CaptureAgent

/// Frames of every format that is asked for, from a real daemon's node to what ffmpeg decodes.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FormatTests {
  static let colours: [SampleColour] = [
    SampleColour(), SampleColour(matrix: .bt601, isFullRange: true),
    SampleColour(matrix: .bt709, isFullRange: false),
    SampleColour(matrix: .bt709, isFullRange: true),
    SampleColour(matrix: .bt2020), SampleColour(matrix: .smpte240), SampleColour(matrix: .fcc),
  ]

  /// Every format, and those of several planes by every way of laying them out and every colour.
  static var offers: [ScreenProducer.Offer] {
    PixelFormat.plain.flatMap { format in
      var offer = ScreenProducer.Offer()
      offer.format = format
      guard format.isYCbCr else { return [offer] }
      let layouts = [(false, true), (false, false), (true, true), (true, false)]
      let laid = layouts.map { hasBlocks, saysStride in
        var one = offer
        (one.hasBlocks, one.saysStride) = (hasBlocks, saysStride)
        return one
      }
      return format == .gray8
        ? laid
        : laid
          + colours.map { colour in
            var one = offer
            one.colour = colour
            return one
          }
    }
  }

  @Test
  func `every format, layout and colour is seen within 3 of 255, to the edges of an odd size`()
    throws
  {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let card = TestCard(width: 209, height: 155)
      let offers = Self.offers
      let units = try offers.indices.map { number in
        try encoded(card, offers[number], name: "node-\(number)", daemon: daemon)
      }
      let opinion = try SecondOpinion(units.flatMap { $0 }, pictures: units.count)
      try #require(opinion.isWhole, "\(opinion.log)")
      for (number, offer) in offers.enumerated() {
        for (x, y) in card.spots(margin: 16) {
          let color = card.color(x, y)
          let distance = opinion.distance(
            x: x, y: y, from: offer.format == .gray8 ? grey(of: color) : color, picture: number)
          #expect(distance <= 3, "\(offer), pixel \(x) \(y)")
        }
      }
    }
  }

  @Test func `a crop that begins within a sample shows its own pixels, turned and scaled too`()
    throws
  {
    let crop = Rectangle(x: 31, y: 17, width: 151, height: 117)
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      for format in [PixelFormat.nv12, .i420, .yuy2, .y444, .xbgr210] {
        for (transformation, wish) in [
          (UInt32(0), PictureWish()), (1, PictureWish()), (0, PictureWish(width: 302, height: 234)),
        ] {
          var offer = ScreenProducer.Offer()
          offer.format = format
          let card = TestCard(width: 209, height: 155)
          let unit = try encoded(
            card, offer, name: "\(format)-\(transformation)-\(wish.width ?? 0)",
            daemon: daemon, crop: crop, transformation: transformation, wish: wish)
          let opinion = try SecondOpinion(unit)
          try #require(opinion.isWhole, "\(opinion.log)")
          // The patches' corner that lies in the crop, and points away from it.
          for (x, y) in [(1, 1), (45, 40), (100, 40), (149, 1), (1, 115), (149, 115)] {
            let (shownX, shownY) =
              transformation == 1
              ? (crop.height - 1 - y, x)
              : wish.width.map { (x * $0 / crop.width, y * wish.height! / crop.height) } ?? (x, y)
            let distance = opinion.distance(
              x: shownX, y: shownY, from: card.color(crop.x + x, crop.y + y))
            #expect(distance <= 3, "\(format), \(transformation), \(wish), pixel \(x) \(y)")
          }
        }
      }
    }
  }

  @Test func `what is not supported is never agreed on`() throws {
    try withTestDirectory { directory in
      let daemon = try PipeWireDaemon(in: directory)
      let scene = try CaptureScene()
      var offer = ScreenProducer.Offer()
      offer.spa = 15  // SPA_VIDEO_FORMAT_RGB: three bytes a pixel.
      let screen = try ScreenProducer(
        loop: scene.loop, remote: daemon.connect(), name: "packed", role: "Screen", width: 320,
        height: 200, offer: offer)
      try scene.start(node: "packed", of: daemon)
      try scene.run(until: "the end", within: .seconds(15)) { scene.end != nil }
      #expect(scene.end?.code == .unavailable)
      #expect(!screen.isStreaming)
    }
  }

  /// As BT.601 has it.
  private func grey(of color: UInt32) -> UInt32 {
    let luma = (299 * (color >> 16 & 255) + 587 * (color >> 8 & 255) + 114 * (color & 255)) / 1000
    return luma * 0x10101
  }

  /// The producer's first picture as a keyframe.
  private func encoded(
    _ card: TestCard, _ offer: ScreenProducer.Offer, name: String, daemon: PipeWireDaemon,
    crop: Rectangle? = nil, transformation: UInt32 = 0, wish: PictureWish = PictureWish()
  ) throws -> [UInt8] {
    let scene = try CaptureScene()
    scene.keepsFrame = true
    let screen = try ScreenProducer(
      loop: scene.loop, remote: daemon.connect(), name: name, role: "Camera", width: card.width,
      height: card.height, offer: offer)
    try scene.start(node: name, of: daemon)
    let picture = ScreenProducer.Picture(
      crop: crop, transformation: transformation,
      painted: PaintedPicture(width: card.width, height: card.height) { card.color($0, $1) })
    let present = { _ = screen.present(picture) }
    try scene.run(until: "a frame of \(offer)", step: present) { scene.kept != nil }
    let taken = scene.takeKept()
    guard let frame = taken else { fatalError("it was seen") }
    #expect(frame.format == offer.format)
    let shape = frame.shape
    let encoder = try softwareEncoder(width: shape.width, height: shape.height, wish: wish)
    try encoder.reconfigure(for: shape, isHalved: false)
    try encoder.load(frame)
    scene.stop()
    return try encoder.encode(keyframe: true, pts: 0).bytes()
  }
}
