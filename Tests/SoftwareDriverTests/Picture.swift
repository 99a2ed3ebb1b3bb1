import Glibc
import TestSupport

/// An NV12 picture to code; sizes are even.
struct Picture {
  let width: Int
  let height: Int
  private var bytes: [UInt8]

  init(width: Int, height: Int, luma: UInt8 = 200, chroma: UInt8 = 128) {
    self.width = width
    self.height = height
    bytes = [UInt8](repeating: luma, count: width * height)
    bytes += [UInt8](repeating: chroma, count: width * height / 2)
  }

  /// Every sample is chance's.
  static func noise(width: Int, height: Int, seed: UInt64) -> Picture {
    var picture = Picture(width: width, height: height)
    var random = SplitMix(seed: seed)
    for index in picture.bytes.indices { picture.bytes[index] = UInt8(random.below(256)) }
    return picture
  }

  /// Dark glyphs of chance on a light ground, as text is: the same seed, the same text.
  static func text(width: Int, height: Int, seed: UInt64, firstLine: Int = 0) -> Picture {
    var picture = Picture(width: width, height: height)
    for line in 0..<(height + 19) / 20 {
      var random = SplitMix(seed: seed &+ UInt64(line + firstLine))
      for glyph in 0..<(width + 8) / 9 {
        let shape = random.next()
        for dot in 0..<48 where shape >> UInt64(dot) & 1 == 1 {
          let x = glyph * 9 + dot % 6
          let y = line * 20 + 4 + dot / 6
          if x < width, y < height { picture.bytes[y * width + x] = 30 }
        }
      }
    }
    return picture
  }

  /// The NV12 bytes, as a decoder gives them.
  var nv12: [UInt8] { bytes }

  /// A sample; what lies outside repeats the edge.
  func luma(_ x: Int, _ y: Int) -> UInt8 {
    bytes[min(y, height - 1) * width + min(x, width - 1)]
  }

  /// Cb at even `x`, Cr at odd.
  func chroma(_ x: Int, _ y: Int) -> UInt8 {
    let inside = x < width ? x : width - 2 + x % 2
    return bytes[width * height + min(y, height / 2 - 1) * width + inside]
  }

  /// Fills a rectangle of even coordinates.
  mutating func fill(x: Int, y: Int, width: Int, height: Int, luma: UInt8, chroma: UInt8) {
    for row in y..<y + height where row < self.height {
      for column in x..<x + width where column < self.width {
        bytes[row * self.width + column] = luma
        bytes[self.width * self.height + row / 2 * self.width + column] = chroma
      }
    }
  }

  /// Copies another picture onto this one; even coordinates keep the colours in place.
  mutating func draw(_ other: Picture, x: Int, y: Int) {
    for row in 0..<other.height where y + row < height {
      for column in 0..<other.width where x + column < width {
        bytes[(y + row) * width + x + column] = other.luma(column, row)
      }
    }
  }
}

/// Peak signal to noise ratio of luma, in dB; 99 for no difference.
func lumaPSNR(_ a: [UInt8], _ b: [UInt8], width: Int, height: Int) -> Double {
  var sum = 0
  for index in 0..<width * height {
    let difference = Int(a[index]) - Int(b[index])
    sum += difference * difference
  }
  guard sum > 0 else { return 99 }
  return 10 * log10(255 * 255 * Double(width * height) / Double(sum))
}
