internal import CPixelKernels
internal import Pixels

/// Writes pixels of four bytes, as a source gave them, into a target of any format.
struct PixelWriter {
  private enum Conversion {
    case nv12FromRGB(porthole_nv12_weights)
    case nv12FromYUV
    case rgbFromYUV(porthole_rgb_weights, red: Int)
    case rgbFromRGB(swaps: Bool)
  }

  private let conversion: Conversion
  private let background: (UInt8, UInt8, UInt8, UInt8)

  init(job: ProcessJob) {
    let weights = job.isBT601 ? PixelWeights.bt601 : .bt709
    let red = job.targetFormat.redByte
    switch (job.sourceFormat == .nv12, job.targetFormat == .nv12) {
    case (false, true):
      let from = job.sourceFormat.redByte
      conversion = .nv12FromRGB(weights.bytes(red: from, green: 1, blue: 2 - from))
    case (true, true): conversion = .nv12FromYUV
    case (true, false): conversion = .rgbFromYUV(Self.inverse(isBT601: job.isBT601), red: red)
    case (false, false): conversion = .rgbFromRGB(swaps: red != job.sourceFormat.redByte)
    }
    background = Self.background(of: job, weights)
  }

  /// Writes `width` by `rows` pixels at (`x`, `y`) of the target; even numbers where it is NV12.
  func write(
    _ pixels: UnsafePointer<UInt8>, stride: Int, width: Int, rows: Int, to target: PictureView,
    x: Int, y: Int
  ) {
    switch conversion {
    case .nv12FromRGB(let weights):
      unsafe withUnsafePointer(to: weights) { weights in
        unsafe porthole_nv12_from_pixels(
          weights, pixels, stride, width, rows, width, target.luma(x: x, y: y), target.stride,
          target.chroma(x: x / 2, y: y / 2), target.stride)
      }
    case .nv12FromYUV:
      unsafe porthole_nv12_from_yuv(
        pixels, stride, width, rows, target.luma(x: x, y: y), target.chroma(x: x / 2, y: y / 2),
        target.stride)
    case .rgbFromYUV(let weights, let red):
      unsafe withUnsafePointer(to: weights) { weights in
        unsafe porthole_rgb_from_yuv(
          weights, pixels, stride, width, rows, red, target.luma(x: 4 * x, y: y), target.stride)
      }
    case .rgbFromRGB(let swaps):
      unsafe porthole_copy_pixels(
        pixels, stride, width, rows, swaps ? 1 : 0, target.luma(x: 4 * x, y: y), target.stride)
    }
  }

  /// Fills whole rows with the background.
  func fill(rows: Range<Int>, width: Int, format: SurfaceFormat, of target: PictureView) {
    guard format == .nv12 else {
      for row in rows {
        let start = unsafe target.luma(x: 0, y: row)
        for x in 0..<width {
          unsafe UnsafeMutableRawPointer(start + 4 * x).storeBytes(
            of: background, as: (UInt8, UInt8, UInt8, UInt8).self)
        }
      }
      return
    }
    for row in rows {
      unsafe target.luma(x: 0, y: row).update(repeating: background.0, count: width)
      guard row & 1 == 0 else { continue }
      let chroma = unsafe target.chroma(x: 0, y: row / 2)
      for pair in 0..<(width + 1) / 2 {
        unsafe chroma[2 * pair] = background.1
        unsafe chroma[2 * pair + 1] = background.2
      }
    }
  }

  /// The background in the target's bytes: a pixel, or Y, Cb and Cr.
  private static func background(
    of job: ProcessJob, _ weights: PixelWeights
  ) -> (UInt8, UInt8, UInt8, UInt8) {
    let alpha = UInt8(job.background >> 24)
    let red = UInt8(job.background >> 16 & 0xff)
    let green = UInt8(job.background >> 8 & 0xff)
    let blue = UInt8(job.background & 0xff)
    guard job.targetFormat == .nv12 else {
      return job.targetFormat.redByte == 0 ? (red, green, blue, alpha) : (blue, green, red, alpha)
    }
    func sample(_ row: (red: Int16, green: Int16, blue: Int16), _ zero: Int) -> UInt8 {
      let sum = Int(row.red) * Int(red) + Int(row.green) * Int(green) + Int(row.blue) * Int(blue)
      return UInt8(clamping: zero + (sum + 1 << 14) >> 15)
    }
    return (sample(weights.y, 16), sample(weights.cb, 128), sample(weights.cr, 128), 0)
  }

  /// ITU-R BT.601 and BT.709, the other way round.
  private static func inverse(isBT601: Bool) -> porthole_rgb_weights {
    let (red, blue) = isBT601 ? (0.299, 0.114) : (0.2126, 0.0722)
    let green = 1 - red - blue
    let chroma = 255.0 / 224
    func fixed(_ weight: Double) -> Int32 { Int32((weight * 8192).rounded()) }
    return porthole_rgb_weights(
      y: fixed(255.0 / 219), red_cr: fixed(2 * (1 - red) * chroma),
      green_cb: fixed(-2 * (1 - blue) * blue / green * chroma),
      green_cr: fixed(-2 * (1 - red) * red / green * chroma),
      blue_cb: fixed(2 * (1 - blue) * chroma))
  }
}
