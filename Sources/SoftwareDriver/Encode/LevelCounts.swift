/// total_coeff of the 4x4 blocks around and in the macroblock under way (clause 9.2.1).
///
/// Between macroblocks only the lowest and the right blocks are kept. While one is written its counts
/// stand, with its neighbours', in grids that have one column at the left and one row above.
struct LevelCounts {
  /// Of the macroblocks above, eight each: four of luma, two of Cb, two of Cr.
  private let above: Table<UInt64>
  /// The same of the macroblock at the left, from the top down.
  private let left: Table<UInt64>
  private let grid: Table<UInt8>

  /// A plane of a macroblock: where its grid begins, blocks in a row, and its place in what is kept.
  struct Plane {
    let start: Int
    let width: Int
    let kept: Int

    static let luma = Plane(start: 0, width: 4, kept: 0)
    static let cb = Plane(start: 25, width: 2, kept: 4)
    static let cr = Plane(start: 34, width: 2, kept: 6)

    @inline(__always) func index(x: Int, y: Int) -> Int {
      start &+ (y &+ 1) &* (width &+ 1) &+ x &+ 1
    }
  }

  /// Stands where there is no block: a sum with it is that of one neighbour alone.
  private static let nowhere: UInt64 = 0x8080_8080_8080_8080
  /// Of an I_PCM macroblock's blocks.
  static let full: UInt64 = 0x1010_1010_1010_1010

  init(columns: Int) throws(DriverError) {
    above = try Table(count: columns)
    left = try Table(count: 1)
    grid = try Table(count: 43)
  }

  /// Sets up the grids: neighbours as they are, and no levels in the macroblock.
  func begin(column: Int, row: Int) {
    let top = row > 0 ? above[column] : Self.nowhere
    let side = column > 0 ? left[0] : Self.nowhere
    fill(.luma, top, side)
    fill(.cb, top, side)
    fill(.cr, top, side)
  }

  @inline(__always) private func fill(_ plane: Plane, _ top: UInt64, _ side: UInt64) {
    for index in 0..<plane.width {
      let shift = UInt64(8 &* (plane.kept &+ index))
      grid[plane.index(x: index, y: -1)] = UInt8(truncatingIfNeeded: top &>> shift)
      grid[plane.index(x: -1, y: index)] = UInt8(truncatingIfNeeded: side &>> shift)
      for x in 0..<plane.width { grid[plane.index(x: x, y: index)] = 0 }
    }
  }

  /// nC of a block.
  @inline(__always) func around(_ plane: Plane, x: Int, y: Int) -> Int {
    let at = plane.index(x: x, y: y)
    let sum = Int(grid[at &- 1]) &+ Int(grid[at &- plane.width &- 1])
    return (sum < 0x80 ? (sum &+ 1) &>> 1 : sum) & 0x7f
  }

  @inline(__always) func set(_ plane: Plane, x: Int, y: Int, to count: Int) {
    grid[plane.index(x: x, y: y)] = UInt8(truncatingIfNeeded: count)
  }

  /// Keeps what the grids hold for the macroblocks to come.
  func keep(column: Int) {
    var bottom: UInt64 = 0
    var right: UInt64 = 0
    func keep(_ plane: Plane) {
      for index in 0..<plane.width {
        let shift = UInt64(8 &* (plane.kept &+ index))
        bottom |= UInt64(grid[plane.index(x: index, y: plane.width &- 1)]) &<< shift
        right |= UInt64(grid[plane.index(x: plane.width &- 1, y: index)]) &<< shift
      }
    }
    keep(.luma)
    keep(.cb)
    keep(.cr)
    above[column] = bottom
    left[0] = right
  }

  /// Keeps one count for all blocks of a macroblock.
  @inline(__always) func keep(all counts: UInt64, column: Int) {
    above[column] = counts
    left[0] = counts
  }
}
