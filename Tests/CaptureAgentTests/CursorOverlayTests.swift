import PipeWire
import Pixels
import Testing

@testable import CaptureAgent

/// Where a pointer stands in a picture, and what becomes of the samples there.
struct CursorOverlayTests {
  @Test(
    arguments: [
      // Pointer's pixels are 0xAARRGGBB, multiplied by alpha; a ground of luma 100 and chroma 90.
      (0xff_ff_ff_ff, 235, 128, 128), (0xff_00_00_00, 16, 128, 128), (0x00_00_00_00, 100, 90, 90),
      (0x80_80_80_80, 168, 109, 109), (0xff_ff_00_00, 63, 102, 240), (0xff_00_00_ff, 32, 240, 118),
    ] as [(UInt32, UInt8, UInt8, UInt8)])
  func `a pointer's colours are mixed with what is under it, to the nearest value`(
    pixel: UInt32, luma: UInt8, cb: UInt8, cr: UInt8
  ) {
    let picture = NV12(width: 16, height: 16)
    let overlay = CursorOverlay(geometry: picture.geometry, colour: .bt709)
    overlay.lay(cursor(2, 4, side: 4, pixel), over: picture.planes)
    for y in 0..<16 {
      for x in 0..<16 {
        let isUnder = (2..<6).contains(x) && (4..<8).contains(y)
        #expect(picture.luma(x, y) == (isUnder ? luma : 100))
        #expect(picture.chroma(x, y) == (isUnder ? [cb, cr] : [90, 90]))
      }
    }
    overlay.lift(from: picture.planes)
    #expect(picture.isGround)
  }

  @Test func `of four pixels that share their colour each counts a quarter`() {
    let picture = NV12(width: 16, height: 16)
    let overlay = CursorOverlay(geometry: picture.geometry, colour: .bt709)
    // One of the four is covered.
    overlay.lay(cursor(3, 5, side: 1, 0xff_ff_ff_ff), over: picture.planes)
    #expect(picture.luma(3, 5) == 235)
    #expect(picture.luma(2, 5) == 100 && picture.luma(3, 4) == 100)
    // (3 * 90 + 128) / 4
    #expect(picture.chroma(2, 4) == [100, 100])
    overlay.lift(from: picture.planes)
    #expect(picture.isGround)
  }

  @Test(arguments: [
    (-2, -2), (14, 14), (-4, 0), (0, -4), (16, 0), (0, 16), (Int(Int32.min), 0),
    (0, Int(Int32.max)), (Int(Int32.max), Int(Int32.min)),
  ])
  func `a pointer over the edge is cut, one beyond it is not drawn, and both leave nothing`(
    x: Int, y: Int
  ) {
    let picture = NV12(width: 16, height: 16)
    let overlay = CursorOverlay(geometry: picture.geometry, colour: .bt709)
    overlay.lay(cursor(x, y, side: 4, 0xff_ff_ff_ff), over: picture.planes)
    for row in 0..<16 {
      for column in 0..<16 {
        let isUnder = (x..<x + 4).contains(column) && (y..<y + 4).contains(row)
        #expect(picture.luma(column, row) == (isUnder ? 235 : 100))
      }
    }
    overlay.lift(from: picture.planes)
    #expect(picture.isGround && picture.isFenced)
  }

  @Test(
    arguments: [
      // Quarter turns, mirrored; where a pointer of 2x4 with its hotspot at (1, 3) stands that points to (10, 20)
      // of 32x48.
      (0, false, (9, 17, 2, 4)), (1, false, (27, 9, 4, 2)), (2, false, (21, 27, 2, 4)),
      (3, false, (17, 21, 4, 2)), (0, true, (21, 17, 2, 4)),
    ] as [(Int, Bool, (Int, Int, Int, Int))])
  func `a pointer is turned with its picture`(
    turns: Int, isMirrored: Bool, place: (Int, Int, Int, Int)
  ) {
    let turn = Orientation(quarterTurns: turns, isMirrored: isMirrored)
    let geometry = PictureWish(turn: turn).geometry(
      of: FrameShape(width: 32, height: 48), isHalved: false)
    let pixels = (0..<8).map { UInt32($0) | 0xff00_0000 }
    let shape = CursorShape(width: 2, height: 4, hotspotX: 1, hotspotY: 3, pixels: pixels)
    let sprite = CursorSprite(shape, geometry: geometry)
    let found = sprite.place(of: Cursor(x: 10, y: 20, shape: shape), geometry: geometry)
    #expect((found.x, found.y, found.width, found.height) == place)
    // The shape's first pixel is at a corner that turns with it.
    let first = (0..<found.height).flatMap { y in (0..<found.width).map { ($0, y) } }
      .first { sprite.pixel(x: $0.0, y: $0.1) == pixels[0] }!
    let corners = [(0, 0), (3, 0), (1, 3), (0, 1)]
    #expect(first == (isMirrored ? (1, 0) : corners[turns]))
  }

  @Test func `a pointer is scaled with its picture, and stands in it beside the bars`() {
    let geometry = PictureWish(width: 64, height: 64).geometry(
      of: FrameShape(width: 64, height: 32), isHalved: true)
    // 32x16 in the middle of 32x32.
    #expect(geometry.content == Rectangle(x: 0, y: 8, width: 32, height: 16))
    let shape = CursorShape(
      width: 8, height: 8, hotspotX: 4, hotspotY: 4,
      pixels: [UInt32](repeating: 0xff10_2030, count: 64))
    let sprite = CursorSprite(shape, geometry: geometry)
    #expect(
      sprite.place(of: Cursor(x: 20, y: 12, shape: shape), geometry: geometry)
        == Rectangle(x: 8, y: 12, width: 4, height: 4))
    #expect(sprite.pixel(x: 3, y: 3) == 0xff10_2030)
    #expect(sprite.pixel(x: 4, y: 0) == nil)
    let overlay = CursorOverlay(geometry: geometry, colour: .bt709)
    #expect(
      overlay.place(of: Cursor(x: 20, y: 31, shape: shape))
        == Rectangle(x: 8, y: 21, width: 4, height: 3), "it does not reach into the bars")
    #expect(overlay.place(of: Cursor(x: 20, y: 60, shape: shape)) == nil)
  }

  @Test func `no picture makes a pointer larger than what the memory plan has`() {
    let geometry = PictureWish(width: 4096, height: 4096).geometry(
      of: FrameShape(width: 16, height: 16), isHalved: false)
    let side = CursorShape.largestSide
    let shape = CursorShape(
      width: side, height: side, hotspotX: side / 2, hotspotY: 0,
      pixels: [UInt32](repeating: 1 << 31, count: side * side))
    let sprite = CursorSprite(shape, geometry: geometry)
    #expect((sprite.width, sprite.height) == (side, side))
    let configured = CursorOverlay.byteCount(geometry: geometry)
    #expect(configured == side * side * 4 + (side + 2) * (side + 2) * 3 / 2)
  }

  private func cursor(_ x: Int, _ y: Int, side: Int, _ pixel: UInt32) -> Cursor {
    Cursor(
      x: x, y: y,
      shape: CursorShape(
        width: side, height: side, hotspotX: 0, hotspotY: 0,
        pixels: [UInt32](repeating: pixel, count: side * side)))
  }
}

/// A picture of one colour, with rows that are longer than it and a row more.
private final class NV12 {
  let geometry: PictureGeometry
  let width: Int
  let height: Int
  private let stride: Int
  private var luma: UnsafeMutableBufferPointer<UInt8>
  private var chroma: UnsafeMutableBufferPointer<UInt8>
  private static let fence: UInt8 = 7

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    stride = width + 4
    geometry = PictureGeometry(frame: FrameShape(width: width, height: height))
    luma = .allocate(capacity: stride * (height + 1))
    chroma = .allocate(capacity: stride * (height / 2 + 1))
    luma.initialize(repeating: Self.fence)
    chroma.initialize(repeating: Self.fence)
    for y in 0..<height { for x in 0..<width { luma[y * stride + x] = 100 } }
    for y in 0..<height / 2 { for x in 0..<width { chroma[y * stride + x] = 90 } }
  }

  deinit {
    luma.deallocate()
    chroma.deallocate()
  }

  var planes: CursorOverlay.Planes {
    CursorOverlay.Planes(
      luma: luma.baseAddress!, lumaStride: stride, chroma: chroma.baseAddress!,
      chromaStride: stride)
  }

  func luma(_ x: Int, _ y: Int) -> UInt8 { luma[y * stride + x] }

  func chroma(_ x: Int, _ y: Int) -> [UInt8] {
    [chroma[y / 2 * stride + x & ~1], chroma[y / 2 * stride + x & ~1 + 1]]
  }

  var isGround: Bool {
    (0..<height).allSatisfy { y in
      (0..<width).allSatisfy { luma($0, y) == 100 && chroma($0, y) == [90, 90] }
    }
  }

  /// Nothing was written beside it.
  var isFenced: Bool {
    luma.indices.allSatisfy {
      $0 % stride < width && $0 / stride < height || luma[$0] == Self.fence
    }
      && chroma.indices.allSatisfy {
        $0 % stride < width && $0 / stride < height / 2 || chroma[$0] == Self.fence
      }
  }
}
