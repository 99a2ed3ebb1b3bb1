/// What later macroblocks, and the deblocking filter, need to know of a coded one.
struct Macroblock: BitwiseCopyable {
  enum Kind: UInt8, BitwiseCopyable {
    case skipped, inter, intra16x16, intra4x4, pcm
  }

  var kind: Kind
  /// QPY, 0 for I_PCM as clause 8.7.2.2 wants it.
  var qp: UInt8
  /// A bit for each 4x4 luma block, in raster order, that has levels other than 0.
  var coded: UInt16
  var motion: Motion

  @inline(__always) var isIntra: Bool { kind.rawValue >= Kind.intra16x16.rawValue }
}

/// A motion vector in whole luma samples.
struct Motion: Equatable, BitwiseCopyable {
  var x: Int16
  var y: Int16

  static let zero = Motion(x: 0, y: 0)

  @inline(__always) init(x: Int16, y: Int16) {
    self.x = x
    self.y = y
  }

  @inline(__always) init(x: Int, y: Int) {
    self.x = Int16(truncatingIfNeeded: x)
    self.y = Int16(truncatingIfNeeded: y)
  }

  @inline(__always) static func == (a: Motion, b: Motion) -> Bool {
    (a.x ^ b.x) | (a.y ^ b.y) == 0
  }

  /// Whole samples up or down that levels from 3.1 on allow (table A-1).
  static let verticalRange = 512

  /// The vector nearest to this one whose block, `column` and `row` being its macroblock, lies inside
  /// the picture, and whose vertical part the level allows.
  @inline(__always) func clamped(
    column: Int, row: Int, columns: Int, rows: Int
  ) -> Motion {
    let left = -16 &* column
    let right = 16 &* (columns &- 1 &- column)
    let top = max(-16 &* row, -Self.verticalRange)
    let bottom = min(16 &* (rows &- 1 &- row), Self.verticalRange &- 1)
    return Motion(x: min(max(Int(x), left), right), y: min(max(Int(y), top), bottom))
  }
}
