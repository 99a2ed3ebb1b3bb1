import Foundation

/// NV12 as BT.709 says it, in double precision: limited range, chroma from the mean of 2x2 pixels,
/// an odd size evened by repeating the last column and row. `color` gives 0xRRGGBB.
func ideal(width: Int, height: Int, color: (_ x: Int, _ y: Int) -> UInt32) -> [UInt8] {
  let evenWidth = (width + 1) / 2 * 2
  let evenHeight = (height + 1) / 2 * 2
  var picture: [UInt8] = []
  picture.reserveCapacity(evenWidth * evenHeight * 3 / 2)
  func pixel(_ x: Int, _ y: Int) -> (red: Double, green: Double, blue: Double) {
    let value = color(min(x, width - 1), min(y, height - 1))
    return (Double(value >> 16 & 0xff), Double(value >> 8 & 0xff), Double(value & 0xff))
  }
  func luma(_ red: Double, _ green: Double, _ blue: Double) -> Double {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  for y in 0..<evenHeight {
    for x in 0..<evenWidth {
      let (red, green, blue) = pixel(x, y)
      picture.append(UInt8((16 + luma(red, green, blue) * 219 / 255).rounded()))
    }
  }
  for y in stride(from: 0, to: evenHeight, by: 2) {
    for x in stride(from: 0, to: evenWidth, by: 2) {
      let block = [pixel(x, y), pixel(x + 1, y), pixel(x, y + 1), pixel(x + 1, y + 1)]
      let red = block.reduce(0) { $0 + $1.red } / 4
      let green = block.reduce(0) { $0 + $1.green } / 4
      let blue = block.reduce(0) { $0 + $1.blue } / 4
      let gray = luma(red, green, blue)
      picture.append(UInt8((128 + (blue - gray) / 1.8556 * 224 / 255).rounded()))
      picture.append(UInt8((128 + (red - gray) / 1.5748 * 224 / 255).rounded()))
    }
  }
  return picture
}

/// 256 when the sizes differ.
func largestDifference(_ one: [UInt8], _ other: [UInt8]) -> Int {
  guard one.count == other.count else { return 256 }
  return zip(one, other).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
}

/// PSNR in dB over all samples; infinite when they are equal.
func signalToNoise(_ one: [UInt8], _ other: [UInt8]) -> Double {
  guard one.count == other.count else { return 0 }
  let error = zip(one, other).reduce(0) { sum, pair in
    let difference = Int(pair.0) - Int(pair.1)
    return sum + difference * difference
  }
  return error == 0 ? .infinity : 10 * log10(255 * 255 * Double(one.count) / Double(error))
}
