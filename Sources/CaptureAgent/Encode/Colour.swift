import Bitstream
import CPixelKernels
import PipeWire
import Pixels

/// Which standard RGB becomes YCbCr by, always of limited range: the values of `--color`.
enum Colour: String, CaseIterable, Sendable {
  case bt709
  case bt601

  /// What the stream says of its samples, which is always what they are.
  var tags: VideoUsability.Colour {
    switch self {
    case .bt709: .bt709
    case .bt601: .bt601
    }
  }

  var matrix: ColourMatrix {
    switch self {
    case .bt709: .bt709
    case .bt601: .bt601
    }
  }

  var weights: PixelWeights {
    switch self {
    case .bt709: .bt709
    case .bt601: .bt601
    }
  }
}

/// A frame's weights, made anew only where they change: a frame allocates nothing.
struct FrameWeights {
  private let target: Colour
  private var source: (format: PixelFormat, colour: FrameColour)?
  private(set) var bytes = porthole_nv12_weights()

  init(to target: Colour) { self.target = target }

  /// Of frames in this format, once their pixels have four bytes.
  mutating func take(_ format: PixelFormat, _ colour: FrameColour) {
    if let source, source == (format, colour) { return }
    source = (format, colour)
    if format.isYCbCr {
      bytes = SampleWeights.bytes(
        from: colour.matrix, isFullRange: colour.isFullRange, to: target.matrix)
    } else {
      // What is no bytes yet is unpacked as blue, green and red.
      let (red, green, blue) = format.byteOrder ?? (2, 1, 0)
      bytes = target.weights.bytes(red: red, green: green, blue: blue)
    }
  }
}
