package import CPixelKernels

/// What red, green and blue of full range give to Y, Cb and Cr of limited range, in units of 2^-15.
package struct PixelWeights: Equatable, Sendable {
  /// Red, green, blue.
  package let y: (red: Int16, green: Int16, blue: Int16)
  package let cb: (red: Int16, green: Int16, blue: Int16)
  package let cr: (red: Int16, green: Int16, blue: Int16)

  package static let bt709 = PixelWeights(.bt709)
  package static let bt601 = PixelWeights(.bt601)

  private init(_ matrix: ColourMatrix) {
    let (red, green, blue) = (matrix.red, matrix.green, matrix.blue)
    let luma = 219.0 / 255
    let chroma = 224.0 / 255
    y = (Self.fixed(red * luma), Self.fixed(green * luma), Self.fixed(blue * luma))
    let toCb = chroma / (2 * (1 - blue))
    let toCr = chroma / (2 * (1 - red))
    cb = Self.balanced(-red * toCb, -green * toCb, chroma / 2)
    cr = Self.balanced(chroma / 2, -green * toCr, -blue * toCr)
  }

  /// In the order of a pixel's bytes; the byte that is none of the three counts nothing.
  package func bytes(red: Int, green: Int, blue: Int) -> porthole_nv12_weights {
    func row(_ weights: (red: Int16, green: Int16, blue: Int16)) -> (Int16, Int16, Int16, Int16) {
      var row = [Int16](repeating: 0, count: 4)
      row[red] = weights.red
      row[green] = weights.green
      row[blue] = weights.blue
      return (row[0], row[1], row[2], row[3])
    }
    let unit: Int32 = 15
    let yBias: Int32 = (16 << unit) + (1 << (unit - 1))
    let chromaBias: Int32 = 4 * ((128 << unit) + (1 << (unit - 1)))
    return porthole_nv12_weights(
      y: row(y), cb: row(cb), cr: row(cr), y_bias: yBias, cb_bias: chromaBias,
      cr_bias: chromaBias, unit: unit)
  }

  private static func fixed(_ weight: Double) -> Int16 { Int16((weight * 32768).rounded()) }

  /// Grey has no colour: the three sum to nothing, by green, the largest of the rounded ones.
  private static func balanced(
    _ red: Double, _ green: Double, _ blue: Double
  ) -> (red: Int16, green: Int16, blue: Int16) {
    let red = fixed(red)
    let blue = fixed(blue)
    return (red, -(red + blue), blue)
  }

  package static func == (one: PixelWeights, other: PixelWeights) -> Bool {
    one.y == other.y && one.cb == other.cb && one.cr == other.cr
  }
}
