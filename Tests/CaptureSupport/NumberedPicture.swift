import Glibc
package import PipeWire

/// A picture that says which one it is, and where it ends: a border of four colours, a plain ground, and
/// the number as 24 squares of 32 pixels from (64, 64) on, as `scripts/desktop/picture.py` draws it. What
/// lies around it in the buffer is not to be seen.
package struct NumberedPicture: Sendable {
  package static let border = 8
  /// 0xRRGGBB.
  package static let (left, right, top, bottom): (UInt32, UInt32, UInt32, UInt32) = (
    0xc0_2020, 0x20_20c0, 0x20_c020, 0xc0_c020
  )
  package static let around: UInt32 = 0xff_00ff

  package var number: Int
  /// 0xRRGGBB of the plain ground.
  package var ground: UInt32
  /// Where it lies in the buffer; nil: everywhere.
  package var place: Rectangle?

  package init(number: Int, ground: UInt32 = 0x20_4060, place: Rectangle? = nil) {
    self.number = number
    self.ground = ground
    self.place = place
  }

  func draw(into pixels: UnsafeMutableRawPointer, stride: Int, width: Int, height: Int) {
    let place = place ?? Rectangle(x: 0, y: 0, width: width, height: height)
    let border = Self.border
    func row(_ inside: [UInt32]) -> [UInt32] {
      [UInt32](repeating: Self.around, count: place.x) + inside
        + [UInt32](repeating: Self.around, count: max(0, width - place.x - place.width))
    }
    func filled(_ color: UInt32) -> [UInt32] { [UInt32](repeating: color, count: place.width) }
    var plain = filled(ground)
    for x in 0..<min(border, place.width) {
      plain[place.width - 1 - x] = Self.right
      plain[x] = Self.left
    }
    var counted = plain
    if place.width >= 64 + 24 * 32 {
      for cell in 0..<24 {
        for x in 0..<32 { counted[64 + cell * 32 + x] = isWhite(cell) ? 0xff_ffff : 0 }
      }
    }
    let outside = row(filled(Self.around))
    let rows = [row(filled(Self.top)), row(filled(Self.bottom)), row(plain), row(counted)]
    for y in 0..<height {
      let inside = y - place.y
      let source =
        if inside < 0 || inside >= place.height { outside } else if inside < border {
          rows[0]
        } else if inside >= place.height - border { rows[1] } else if (64..<96).contains(inside) {
          rows[3]
        } else { rows[2] }
      source.withUnsafeBytes { _ = memcpy(pixels + y * stride, $0.baseAddress!, width * 4) }
    }
  }

  private func isWhite(_ cell: Int) -> Bool {
    switch cell {
    case 0: true
    case 1: false
    case 2..<18: (number >> (17 - cell)) & 1 == 1
    default: (((number & 0xffff) % 61) >> (23 - cell)) & 1 == 1
    }
  }
}

extension NumberedPicture {
  /// Draws it as a producer does that says `transformation`: mirrored left to right from 4 on, then turned
  /// counter-clockwise. The buffer is `width` x `height`.
  func draw(
    transformation: UInt32, into pixels: UnsafeMutableRawPointer, stride: Int, width: Int,
    height: Int
  ) {
    let isTransposed = transformation & 1 == 1
    let (wide, high) = isTransposed ? (height, width) : (width, height)
    let upright = UnsafeMutablePointer<UInt32>.allocate(capacity: wide * high)
    defer { upright.deallocate() }
    draw(into: upright, stride: wide * 4, width: wide, height: high)
    // The upright pixel of the buffer's first one, and how far it is to those beside and below.
    let (last, bottom) = (wide - 1, (high - 1) * wide)
    var (first, across, down) =
      switch transformation & 3 {
      case 1: (last, wide, -1)
      case 2: (last + bottom, -1, -wide)
      case 3: (bottom, -wide, 1)
      default: (0, 1, wide)
      }
    if transformation >= 4 {
      // The other column of the same row.
      first += last - 2 * (first % wide)
      if isTransposed { down = -down } else { across = -across }
    }
    for y in 0..<height {
      let row = (pixels + y * stride).assumingMemoryBound(to: UInt32.self)
      var from = first + y * down
      for x in 0..<width {
        row[x] = upright[from]
        from += across
      }
    }
  }
}

extension ScreenProducer.Picture {
  /// Drawn as BGRx, whole.
  package init(_ picture: NumberedPicture) {
    self.init()
    crop = picture.place
    draw = { picture.draw(into: $0, stride: $1, width: $2, height: $3) }
  }

  /// The same, turned and said to be; `picture` has no place.
  package init(_ picture: NumberedPicture, transformation: UInt32) {
    self.init(transformation: transformation)
    draw = {
      picture.draw(transformation: transformation, into: $0, stride: $1, width: $2, height: $3)
    }
  }
}
