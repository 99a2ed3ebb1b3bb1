import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// What makes a screen cheap: nothing moves, a page scrolls, a window is dragged.
struct ScreenTests {
  @Test("a still screen costs a few bytes a picture")
  func still() throws {
    let client = try DriverClient(width: 320, height: 192)
    let text = Picture.text(width: 320, height: 192, seed: 1)
    try client.encode(text)
    for _ in 0..<3 { #expect(try client.encode(text).bytes.count < 20) }
  }

  @Test("macroblocks far from a change are left as they are")
  func smallChange() throws {
    let client = try DriverClient(width: 320, height: 192)
    var text = Picture.text(width: 320, height: 192, seed: 1)
    let whole = try client.encode(text).bytes.count
    text.fill(x: 100, y: 100, width: 12, height: 12, luma: 0, chroma: 128)
    #expect(try client.encode(text).bytes.count < whole / 20)
  }

  @Test("a scrolled page costs its new lines only", arguments: [2, 7])
  func scroll(lines: Int) throws {
    let client = try DriverClient(width: 320, height: 400)
    let whole = try client.encode(Picture.text(width: 320, height: 400, seed: 1)).bytes.count
    let scrolled = Picture.text(width: 320, height: 400, seed: 1, firstLine: lines)
    #expect(try client.encode(scrolled).bytes.count < whole * (lines + 2) / 20)
  }

  @Test("a dragged window costs what it uncovers")
  func drag() throws {
    let client = try DriverClient(width: 400, height: 304)
    let window = Picture.text(width: 240, height: 160, seed: 9)
    var sizes: [Int] = []
    for step in 0..<4 {
      var screen = Picture(width: 400, height: 304, luma: 60)
      screen.draw(window, x: 20 + 31 * step, y: 16 + 23 * step)
      sizes.append(try client.encode(screen).bytes.count)
    }
    for size in sizes.dropFirst() { #expect(size < sizes[0] / 4) }
  }

  @Test("a flat macroblock is nearly free")
  func flat() throws {
    let client = try DriverClient(width: 320, height: 192)
    let size = try client.encode(Picture(width: 320, height: 192)).bytes.count
    // Parameter sets and headers take some fifty bytes, a macroblock six bits.
    #expect(size < 50 + 240 * 6 / 8)
  }
}
