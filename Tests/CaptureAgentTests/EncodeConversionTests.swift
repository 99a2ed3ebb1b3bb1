import CPixelKernels
import Pixels
import TestSupport
import Testing

@testable import CaptureAgent

/// Pixels to NV12, against BT.709 in double precision.
struct EncodeConversionTests {
  private let weights = PixelWeights.bt709.bytes(red: 2, green: 1, blue: 0)

  @Test("every grey has no colour, black is 16 and white is 235")
  func greys() {
    for value in UInt8.min...UInt8.max {
      let picture = convert([UInt8](repeating: value, count: 16), width: 2, rows: 2)
      #expect(picture.chroma == [128, 128])
      #expect(Double(picture.luma[0]) == (16 + Double(value) * 219 / 255).rounded())
    }
  }

  @Test("flat patches are within one of the ideal, and nearly all are exact")
  func flatPatches() {
    var exact = 0
    var count = 0
    for red in stride(from: 0, through: 255, by: 5) {
      for green in stride(from: 0, through: 255, by: 5) {
        for blue in stride(from: 0, through: 255, by: 5) {
          let pixel = [UInt8(blue), UInt8(green), UInt8(red), 0]
          let picture = convert(pixel + pixel + pixel + pixel, width: 2, rows: 2)
          let ideal = ideal(red: Double(red), green: Double(green), blue: Double(blue))
          for (value, ideal) in zip([picture.luma[0]] + picture.chroma, ideal) {
            #expect(abs(Double(value) - ideal) < 0.52, "\(red) \(green) \(blue)")
            if Double(value) == ideal.rounded() { exact += 1 }
            count += 1
          }
        }
      }
    }
    #expect(Double(exact) / Double(count) > 0.98)
  }

  @Test("vector instructions give the same bytes as none, at every width")
  func vectors() {
    var numbers = SplitMix(seed: 7)
    for width in Array(1...70) + [127, 128, 129, 1366] {
      let rows = 1 + numbers.below(4)
      let pixels = (0..<width * rows * 4).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }
      let fast = convert(pixels, width: width, rows: rows)
      let plain = convert(pixels, width: width, rows: rows, by: porthole_nv12_from_pixels_plain)
      #expect(fast.luma == plain.luma, "width \(width)")
      #expect(fast.chroma == plain.chroma, "width \(width)")
    }
  }

  @Test(
    "an odd picture repeats its last row and column, and nothing is written past the coded width")
  func edges() {
    // One white pixel in the corner of 3x3 black ones.
    var pixels = [UInt8](repeating: 0, count: 3 * 3 * 4)
    for byte in 32..<36 { pixels[byte] = 255 }
    let picture = convert(pixels, width: 3, rows: 3, codedWidth: 6)
    #expect(
      picture.luma == [16, 16, 16, 16, 16, 16] + [16, 16, 16, 16, 16, 16] + [
        16, 16, 235, 235, 235, 235,
      ])
    // The corner's own 2x2 block is this pixel four times.
    #expect(picture.chroma.allSatisfy { $0 == 128 })
    #expect(picture.isBounded)
  }

  @Test("red and blue stand where the format says")
  func formats() {
    let red = PixelWeights.bt709.bytes(red: 0, green: 1, blue: 2)
    let asRGB = convert([255, 0, 0, 0] + [255, 0, 0, 0], width: 2, rows: 1, weights: red)
    let asBGR = convert([0, 0, 255, 0] + [0, 0, 255, 0], width: 2, rows: 1)
    #expect(asRGB.luma == asBGR.luma)
    #expect(asRGB.chroma == asBGR.chroma)
    #expect(asRGB.chroma == [102, 240])
  }

  private typealias Kernel = (
    UnsafePointer<porthole_nv12_weights>, UnsafePointer<UInt8>, Int, Int, Int, Int,
    UnsafeMutablePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>, Int
  ) -> Void

  private struct Converted {
    var luma: [UInt8]
    var chroma: [UInt8]
    var isBounded: Bool
  }

  /// Rows follow each other with a guard byte after each, which must stay as it was.
  private func convert(
    _ pixels: [UInt8], width: Int, rows: Int, codedWidth: Int? = nil,
    weights: porthole_nv12_weights? = nil,
    by kernel: Kernel = { porthole_nv12_from_pixels($0, $1, $2, $3, $4, $5, $6, $7, $8, $9) }
  ) -> Converted {
    let coded = codedWidth ?? (width + 1) / 2 * 2
    let pitch = coded + 1
    let untouched: UInt8 = 0xA5
    var luma = [UInt8](repeating: untouched, count: pitch * rows)
    var chroma = [UInt8](repeating: untouched, count: pitch * ((rows + 1) / 2))
    var weights = weights ?? self.weights
    kernel(&weights, pixels, width * 4, width, rows, coded, &luma, pitch, &chroma, pitch)
    func cut(_ plane: [UInt8]) -> [UInt8] {
      plane.indices.filter { $0 % pitch != coded }.map { plane[$0] }
    }
    let guards = [luma, chroma].allSatisfy { plane in
      plane.indices.filter { $0 % pitch == coded }.allSatisfy { plane[$0] == untouched }
    }
    return Converted(luma: cut(luma), chroma: cut(chroma), isBounded: guards)
  }

  /// Y, Cb and Cr, not rounded.
  private func ideal(red: Double, green: Double, blue: Double) -> [Double] {
    let luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return [
      16 + luma * 219 / 255, 128 + (blue - luma) / 1.8556 * 224 / 255,
      128 + (red - luma) / 1.5748 * 224 / 255,
    ]
  }
}
