/// Frames a second as a fraction; 0/1 stands for any.
package struct FrameRate: Equatable, Hashable, Sendable, CustomStringConvertible {
  package let numerator: Int
  package let denominator: Int

  package static let any = FrameRate(0, 1)

  package init(_ numerator: Int, _ denominator: Int = 1) {
    self.numerator = numerator
    self.denominator = max(1, denominator)
  }

  package var isAny: Bool { numerator == 0 }

  /// Whether it is as slow or slower; fractions are compared and never rounded.
  package func isAtMost(_ other: FrameRate) -> Bool {
    numerator * other.denominator <= other.numerator * denominator
  }

  package var description: String {
    if isAny { return "any rate" }
    return denominator == 1 ? "\(numerator)/s" : "\(numerator)/\(denominator)/s"
  }
}

/// Width and height in pixels.
package struct FrameSize: Equatable, Hashable, Sendable, CustomStringConvertible {
  package let width: Int
  package let height: Int

  package init(_ width: Int, _ height: Int) {
    self.width = width
    self.height = height
  }

  package var description: String { "\(width)x\(height)" }
}

/// What a camera can be asked for: one format, with the sizes and rates that it has of it.
package struct CameraMode: Equatable, Sendable {
  /// What may be chosen among.
  package enum Choice<Value: Equatable & Sendable>: Equatable, Sendable {
    case these([Value])
    /// From the first to the last, in steps of the third, or of any size.
    case range(Value, Value, step: Value?)
  }

  package enum Picture: Equatable, Sendable {
    /// As pixels, or as JPEGs.
    case read(PixelFormat)
    /// Whatever is not read here, by its name.
    case other(String)
  }

  package let picture: Picture
  package let sizes: Choice<FrameSize>
  package let rates: Choice<FrameRate>

  package init(picture: Picture, sizes: Choice<FrameSize>, rates: Choice<FrameRate>) {
    self.picture = picture
    self.sizes = sizes
    self.rates = rates
  }
}

/// One choice among what a camera's modes have.
package struct CameraFormat: Equatable, Sendable {
  package let pixel: PixelFormat
  package let size: FrameSize
  package let rate: FrameRate

  package init(pixel: PixelFormat, size: FrameSize, rate: FrameRate) {
    self.pixel = pixel
    self.size = size
    self.rate = rate
  }
}
