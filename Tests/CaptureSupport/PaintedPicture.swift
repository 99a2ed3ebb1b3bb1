import CPipeWire

@testable package import PipeWire

/// A picture as a test wants it seen, and what a producer of any format makes of it, in double precision.
///
/// Unchecked: one thread at a time paints it.
package final class PaintedPicture: @unchecked Sendable {
  /// One plane's samples, row by row, without gaps.
  package struct Plane: Sendable {
    package var rows: [[UInt8]] = []
  }

  let width: Int
  let height: Int
  /// 0xRRGGBB.
  let color: @Sendable (_ x: Int, _ y: Int) -> UInt32
  private var painted: (format: PixelFormat, colour: SampleColour, planes: [Plane])?

  package init(
    width: Int, height: Int, color: @escaping @Sendable (_ x: Int, _ y: Int) -> UInt32
  ) {
    self.width = width
    self.height = height
    self.color = color
  }

  /// What is not said of the colour is what is usual for a small picture: BT.601, limited.
  package func planes(_ format: PixelFormat, _ colour: SampleColour) -> [Plane] {
    if let painted, (painted.format, painted.colour) == (format, colour) { return painted.planes }
    let planes = paint(format, colour)
    painted = (format, colour, planes)
    return planes
  }

  private func paint(_ format: PixelFormat, _ colour: SampleColour) -> [Plane] {
    let samples = { [unowned self] x, y in YCbCr(rgb(x, y), colour) }
    switch format {
    case .nv12:
      let chroma = chroma(samples)
      return [
        luma(samples), Plane(rows: chroma.map { row in row.flatMap { [$0.cb, $0.cr] } }),
      ]
    case .i420:
      let chroma = chroma(samples)
      return [
        luma(samples), Plane(rows: chroma.map { $0.map(\.cb) }),
        Plane(rows: chroma.map { $0.map(\.cr) }),
      ]
    case .y42b:
      let pairs = chroma(samples, down: 1)
      return [
        luma(samples), Plane(rows: pairs.map { $0.map(\.cb) }),
        Plane(rows: pairs.map { $0.map(\.cr) }),
      ]
    case .y444:
      return [
        luma(samples),
        Plane(rows: (0..<height).map { y in (0..<width).map { samples($0, y).cb.byte } }),
        Plane(rows: (0..<height).map { y in (0..<width).map { samples($0, y).cr.byte } }),
      ]
    case .gray8: return [luma(samples)]
    case .yuy2:
      let rows = (0..<height).map { y in
        stride(from: 0, to: width, by: 2).flatMap { x in
          let one = samples(x, y)
          let next = samples(min(x + 1, width - 1), y)
          return [
            one.y.byte, ((one.cb + next.cb) / 2).byte, next.y.byte, ((one.cr + next.cr) / 2).byte,
          ]
        }
      }
      return [Plane(rows: rows)]
    default:
      let rows = (0..<height).map { y in
        (0..<width).flatMap { x in format.bytes(of: rgb(x, y)) }
      }
      return [Plane(rows: rows)]
    }
  }

  private func rgb(_ x: Int, _ y: Int) -> (red: Int, green: Int, blue: Int) {
    let value = Int(color(min(x, width - 1), min(y, height - 1)))
    return (value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff)
  }

  private func luma(_ samples: (Int, Int) -> YCbCr) -> Plane {
    Plane(rows: (0..<height).map { y in (0..<width).map { samples($0, y).y.byte } })
  }

  /// Of two by `down` pixels each.
  private func chroma(
    _ samples: (Int, Int) -> YCbCr, down: Int = 2
  ) -> [[(cb: UInt8, cr: UInt8)]] {
    stride(from: 0, to: height, by: down).map { y in
      stride(from: 0, to: width, by: 2).map { x in
        let below = y + down - 1
        let block = [samples(x, y), samples(x + 1, y), samples(x, below), samples(x + 1, below)]
        return (
          (block.reduce(0) { $0 + $1.cb } / 4).byte, (block.reduce(0) { $0 + $1.cr } / 4).byte
        )
      }
    }
  }
}

private struct YCbCr {
  let y: Double
  let cb: Double
  let cr: Double

  init(_ pixel: (red: Int, green: Int, blue: Int), _ colour: SampleColour) {
    let (red, blue) =
      switch colour.matrix {
      case .bt601, nil: (0.299, 0.114)
      case .bt709: (0.2126, 0.0722)
      case .bt2020: (0.2627, 0.0593)
      case .smpte240: (0.212, 0.087)
      case .fcc: (0.3, 0.11)
      }
    let isFull = colour.isFullRange == true
    let luma =
      red * Double(pixel.red) + (1 - red - blue) * Double(pixel.green)
      + blue * Double(pixel.blue)
    y = isFull ? luma : 16 + luma * 219 / 255
    let scale = isFull ? 1.0 : 224 / 255
    cb = 128 + (Double(pixel.blue) - luma) / (2 * (1 - blue)) * scale
    cr = 128 + (Double(pixel.red) - luma) / (2 * (1 - red)) * scale
  }
}

extension Double {
  fileprivate var byte: UInt8 { UInt8(min(max(rounded(), 0), 255)) }
}

extension PixelFormat {
  /// Of one pixel; what is unused is set.
  fileprivate func bytes(of pixel: (red: Int, green: Int, blue: Int)) -> [UInt8] {
    let (red, green, blue) = (UInt8(pixel.red), UInt8(pixel.green), UInt8(pixel.blue))
    func word(_ red: Int, _ green: Int, _ blue: Int, unused: UInt32) -> [UInt8] {
      let word = zip([pixel.red, pixel.green, pixel.blue], [red, green, blue]).reduce(unused) {
        $0 | UInt32((Double($1.0) * 1023 / 255).rounded()) << UInt32($1.1)
      }
      return (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    return switch self {
    case .bgrx, .bgra: [blue, green, red, 0xff]
    case .rgbx, .rgba: [red, green, blue, 0xff]
    case .xrgb, .argb: [0xff, red, green, blue]
    case .xbgr, .abgr: [0xff, blue, green, red]
    case .xrgb210, .argb210: word(20, 10, 0, unused: 3 << 30)
    case .xbgr210, .abgr210: word(0, 10, 20, unused: 3 << 30)
    case .rgbx102, .rgba102: word(22, 12, 2, unused: 3)
    case .bgrx102, .bgra102: word(2, 12, 22, unused: 3)
    case .nv12, .i420, .yuy2, .y42b, .y444, .gray8, .mjpeg: []
    }
  }
}

extension SampleColour {
  func say(in info: inout spa_video_info_raw) {
    switch matrix {
    case .bt601: info.color_matrix = SPA_VIDEO_COLOR_MATRIX_BT601
    case .bt709: info.color_matrix = SPA_VIDEO_COLOR_MATRIX_BT709
    case .bt2020: info.color_matrix = SPA_VIDEO_COLOR_MATRIX_BT2020
    case .smpte240: info.color_matrix = SPA_VIDEO_COLOR_MATRIX_SMPTE240M
    case .fcc: info.color_matrix = SPA_VIDEO_COLOR_MATRIX_FCC
    case nil: break
    }
    switch isFullRange {
    case true: info.color_range = SPA_VIDEO_COLOR_RANGE_0_255
    case false: info.color_range = SPA_VIDEO_COLOR_RANGE_16_235
    case nil: break
    }
  }
}
