/// The picture of `--source pattern`: colour bars over a grey ramp, a square that moves, and the
/// frame's number as a row of squares that a reader finds again after any codec.
///
/// The number's cells, from the left: one white and one black, for the levels; the number's low 16
/// bits; the number modulo 61 in 6 bits, by which a torn picture is known. High bits come first,
/// white is 1. Cells are 32 pixels wide from (64, 64) where that fits, and smaller where not; of a
/// picture below 26x3 only a part is there.
///
/// Nothing here holds a picture: it draws into rows that it is given, as BGRx.
struct TestPattern {
  let width: Int
  let height: Int
  /// How wide a cell of the number is.
  let cell: Int
  /// What differs between two frames: the number's rows and the moving square's.
  let movingRows: [Range<Int>]
  private let box: (minY: Int, side: Int)
  private let bars: [UInt32]
  private let ramp: [UInt32]

  static let cellCount = 24
  private static let stepPixels = 8
  private static let white: UInt32 = 0xffff_ffff
  private static let black: UInt32 = 0xff00_0000

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    let colors: [UInt32] = [
      0xffc0_c0c0, 0xffc0_c000, 0xff00_c0c0, 0xff00_c000, 0xffc0_00c0, 0xffc0_0000, 0xff00_00c0,
      0xff40_4040,
    ]
    bars = (0..<width).map { colors[$0 * colors.count / width] }
    ramp = (0..<width).map { Self.black | UInt32($0 * 256 / width) * 0x0001_0101 }
    cell =
      width >= 896 && height >= 128 ? 32 : max(1, min(width / (Self.cellCount + 4), height / 8))
    box = (height / 2, max(1, min(width, height) / 6))
    movingRows = [
      (2 * cell..<3 * cell).clamped(to: 0..<height), box.minY..<box.minY + box.side,
    ]
  }

  /// Whether the number's cell `index` is white.
  static func isWhite(cell index: Int, of number: Int) -> Bool {
    switch index {
    case 0: true
    case 1: false
    case 2..<18: (number >> (17 - index)) & 1 == 1
    default: (((number & 0xffff) % 61) >> (23 - index)) & 1 == 1
    }
  }

  /// Draws row `y` of frame `number`, whole.
  func drawRow(_ y: Int, of number: Int, into row: inout MutableSpan<UInt32>) {
    let ground = y < height * 3 / 4 ? bars : ramp
    for x in 0..<width { row[x] = ground[x] }
    if movingRows[0].contains(y) {
      for index in 0..<Self.cellCount {
        let color = Self.isWhite(cell: index, of: number) ? Self.white : Self.black
        for x in ((2 + index) * cell..<(3 + index) * cell).clamped(to: 0..<width) { row[x] = color }
      }
    } else if movingRows[1].contains(y) {
      let span = max(1, width - box.side)
      let left = number * Self.stepPixels % span
      for x in left..<min(left + box.side, width) { row[x] = Self.white }
    }
  }
}
