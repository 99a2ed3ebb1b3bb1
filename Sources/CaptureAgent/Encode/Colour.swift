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

  var weights: PixelWeights {
    switch self {
    case .bt709: .bt709
    case .bt601: .bt601
    }
  }
}

/// A colour's weights for both orders of a pixel's bytes, made once: a frame allocates nothing.
struct ColourWeights {
  private let blueFirst: porthole_nv12_weights
  private let redFirst: porthole_nv12_weights

  init(_ colour: Colour) {
    blueFirst = colour.weights.bytes(red: 2, green: 1, blue: 0)
    redFirst = colour.weights.bytes(red: 0, green: 1, blue: 2)
  }

  func bytes(of format: PixelFormat) -> porthole_nv12_weights {
    switch format {
    case .bgrx, .bgra: blueFirst
    case .rgbx, .rgba: redFirst
    }
  }
}
