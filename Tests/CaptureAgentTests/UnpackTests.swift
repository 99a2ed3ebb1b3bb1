import CPixelKernels
import Glibc
import Pixels
import TestSupport
import Testing

@testable import PipeWire

/// Samples of other formats as pixels of four bytes, against plain loops, and what their weights make.
struct UnpackTests {
  static let widths = Array(1...40) + [127, 641, 1366]

  private func samples(_ count: Int, _ numbers: inout SplitMix) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }
  }

  @Test("every pixel has its own luma and the chroma it shares, from either half of a sample")
  func shared() {
    var numbers = SplitMix(seed: 5)
    for width in Self.widths {
      for odd in 0..<2 {
        let count = (width + odd + 1) / 2
        let luma = samples(width, &numbers)
        let cb = samples(count, &numbers)
        let cr = samples(count, &numbers)
        let wanted = (0..<width).map { x in
          let pair = (x + odd) / 2
          return 0xff00_0000 | UInt32(luma[x]) | UInt32(cb[pair]) << 8 | UInt32(cr[pair]) << 16
        }
        var pixels = [UInt32](repeating: 7, count: width + 1)
        porthole_pixels_from_luma(luma, width, &pixels)
        porthole_add_chroma_pairs(
          zip(cb, cr).flatMap { [$0, $1] }, Int32(odd), width, &pixels)
        #expect(pixels == wanted + [7], "NV12, \(width) from \(odd)")
        porthole_pixels_from_luma(luma, width, &pixels)
        porthole_add_chroma(cb, Int32(odd), 1, width, &pixels)
        porthole_add_chroma(cr, Int32(odd), 2, width, &pixels)
        #expect(pixels == wanted + [7], "I420, \(width) from \(odd)")
        let packed = (0..<count).flatMap { pair in
          let own = [2 * pair - odd, 2 * pair + 1 - odd].map { x in
            luma.indices.contains(x) ? luma[x] : 0x55
          }
          return [own[0], cb[pair], own[1], cr[pair]]
        }
        porthole_pixels_from_yuy2(packed, Int32(odd), width, &pixels)
        #expect(pixels == wanted + [7], "YUY2, \(width) from \(odd)")
        let whole = zip(luma, zip(samples(width, &numbers), samples(width, &numbers))).map { $0 }
        porthole_pixels_from_luma(luma, width, &pixels)
        porthole_add_whole_chroma(whole.map(\.1.0), 1, width, &pixels)
        porthole_add_whole_chroma(whole.map(\.1.1), 2, width, &pixels)
        let own = whole.map { y, chroma in
          0xff00_0000 | UInt32(y) | UInt32(chroma.0) << 8 | UInt32(chroma.1) << 16
        }
        #expect(pixels == own + [7], "Y444, \(width)")
        porthole_pixels_from_grey(luma, width, &pixels)
        #expect(pixels == luma.map { 0xff80_8000 | UInt32($0) } + [7], "grey, \(width)")
      }
    }
  }

  @Test("ten bits become eight, black and white exactly and each step in its place")
  func tenBits() {
    let words = (0..<1024).flatMap { value -> [UInt8] in
      let word = UInt32(value) << 20 | UInt32(1023 - value) << 10 | UInt32(value) | 3 << 30
      return (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    var pixels = [UInt32](repeating: 0, count: 1024)
    porthole_pixels_from_ten_bits(words, 20, 10, 0, 1024, &pixels)
    for (value, pixel) in pixels.enumerated() {
      let ideal = Double(value) * 255 / 1023
      #expect(abs(Double(pixel & 0xff) - ideal) <= 0.51)
      #expect(pixel >> 16 & 0xff == pixel & 0xff)
      #expect(abs(Double(pixel >> 8 & 0xff) - (255 - ideal)) <= 0.51)
    }
    #expect(pixels[0] == 0xff00_ff00 && pixels[1023] == 0xffff_00ff)
  }

  @Test("samples that are as wanted stay what they are, bit for bit")
  func identity() {
    for matrix in [ColourMatrix.bt601, .bt709] {
      var weights = SampleWeights.bytes(from: matrix, isFullRange: false, to: matrix)
      for value in UInt8.min...UInt8.max {
        let (luma, chroma) = converted([value, 255 - value, value], &weights)
        #expect(luma == value && chroma == [255 - value, value])
      }
    }
  }

  @Test("full range is brought into the limited one, and every grey stays grey in any standard")
  func greys() {
    let matrices = [ColourMatrix.bt601, .bt709, .bt2020, .smpte240, .fcc]
    for source in matrices {
      for target in [ColourMatrix.bt601, .bt709] {
        var full = SampleWeights.bytes(from: source, isFullRange: true, to: target)
        for value in UInt8.min...UInt8.max {
          let (luma, chroma) = converted([value, 128, 128], &full)
          #expect(abs(Double(luma) - (16 + Double(value) * 219 / 255)) <= 0.51)
          #expect(chroma == [128, 128])
        }
      }
    }
  }

  /// Four pixels alike.
  private func converted(
    _ pixel: [UInt8], _ weights: inout porthole_nv12_weights
  ) -> (luma: UInt8, chroma: [UInt8]) {
    let pixels = [[UInt8]](repeating: pixel + [255], count: 4).flatMap { $0 }
    var luma = [UInt8](repeating: 0, count: 4)
    var chroma = [UInt8](repeating: 0, count: 2)
    porthole_nv12_from_pixels(&weights, pixels, 8, 2, 2, 2, &luma, 2, &chroma, 2)
    return (luma[0], chroma)
  }

  // A webcam's driver maps the buffer's first page wherever it is asked to begin.
  @Test("a device's buffer is mapped from its start, and read where it is asked")
  func deviceBlock() throws {
    var name = Array("/tmp/porthole-block-XXXXXX".utf8CString)
    let fd = mkstemp(&name)
    try #require(fd >= 0)
    unlink(name)
    defer { close(fd) }
    let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 13) }
    try #require(write(fd, bytes, bytes.count) == bytes.count)
    let block = try MemoryBlock(fd: fd, offset: 0, byteCount: bytes.count, isDevices: true)
    var read: [UInt8] = []
    try block.withBytes(15_000..<15_100) { read = Array($0) }
    #expect(read == Array(bytes[15_000..<15_100]))
    #expect(MemoryBlock.mappedPeakByteCount >= 15_100)
    #expect(throws: SharedBufferError.outOfBounds) {
      try block.withBytes(19_990..<20_001) { _ in }
    }
  }
}
