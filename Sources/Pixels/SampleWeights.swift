package import CPixelKernels

/// What Y, Cb and Cr of a camera give to those of limited range, by whatever standard either is.
package enum SampleWeights {
  /// Of pixels of Y, Cb and Cr in this order, in units of 2^-14: limited range by one standard to the
  /// other has weights a little above one.
  package static func bytes(
    from source: ColourMatrix, isFullRange: Bool, to target: ColourMatrix
  ) -> porthole_nv12_weights {
    let unit = 14
    // Black, and how far it is to white; grey, and from one end of colour to the other.
    let black = isFullRange ? 0 : 16
    let white = isFullRange ? 255.0 : 219
    let colours = isFullRange ? 255.0 : 224
    func fixed(_ weight: Double) -> Int16 { Int16((weight * Double(1 << unit)).rounded()) }
    func row(_ share: Share, times range: Double) -> (y: Int16, cb: Int16, cr: Int16) {
      (
        fixed(share.y * range / white), fixed(share.cb * range / colours),
        fixed(share.cr * range / colours)
      )
    }
    let shares = Share.all(from: source, to: target)
    let y = row(shares.y, times: 219)
    let cb = row(shares.cb, times: 224)
    let cr = row(shares.cr, times: 224)
    // The bias that brings what is black, or grey, there to black, or grey, here.
    func bias(_ row: (y: Int16, cb: Int16, cr: Int16), _ middle: Int, pixels: Int) -> Int32 {
      let from = Int(row.y) * black + (Int(row.cb) + Int(row.cr)) * 128
      return Int32(pixels * ((middle << unit) - from + 1 << (unit - 1)))
    }
    return porthole_nv12_weights(
      y: (y.y, y.cb, y.cr, 0), cb: (cb.y, cb.cb, cb.cr, 0), cr: (cr.y, cr.cb, cr.cr, 0),
      y_bias: bias(y, 16, pixels: 1), cb_bias: bias(cb, 128, pixels: 4),
      cr_bias: bias(cr, 128, pixels: 4), unit: Int32(unit))
  }

  /// What luma from 0 to 1 and colours from -1/2 to 1/2 give to one of those by another standard.
  private struct Share {
    var y, cb, cr: Double

    static func all(
      from source: ColourMatrix, to target: ColourMatrix
    ) -> (y: Share, cb: Share, cr: Share) {
      let red = Share(y: 1, cb: 0, cr: 2 * (1 - source.red))
      let blue = Share(y: 1, cb: 2 * (1 - source.blue), cr: 0)
      let green = Share(
        y: 1, cb: -source.blue * blue.cb / source.green, cr: -source.red * red.cr / source.green)
      let y = Share(
        y: 1, cb: target.green * green.cb + target.blue * blue.cb,
        cr: target.red * red.cr + target.green * green.cr)
      func colour(_ primary: Share, _ share: Double) -> Share {
        let scale = 2 * (1 - share)
        // Grey has no colour.
        return Share(y: 0, cb: (primary.cb - y.cb) / scale, cr: (primary.cr - y.cr) / scale)
      }
      return (y, colour(blue, target.blue), colour(red, target.red))
    }
  }
}
