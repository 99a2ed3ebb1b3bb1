/// What the encoder remembers of a picture it made, macroblock by macroblock in raster order.
@safe final class Reconstruction {
  /// Hash of the source pixels that the macroblock was coded from.
  let hashes: Table<UInt64>
  /// Names the macroblock's pixels: equal serials at one place in two surfaces, equal pixels.
  let serials: Table<UInt32>
  /// The QP whose fidelity the macroblock has reached, and `residue` where something may be left of what the
  /// reference was (motion keeps no small levels, and a neighbour's edge is filtered), which asks for being coded
  /// once more; `unknownQuality` asks for a look.
  let qualities: Table<UInt8>

  /// Macroblocks in a row, and rows.
  let columns: Int
  let rows: Int

  static let unknownQuality: UInt8 = 255
  static let residue: UInt8 = 64

  /// In macroblocks.
  init(columns: Int, rows: Int) throws(DriverError) {
    self.columns = columns
    self.rows = rows
    hashes = try Table(count: columns * rows)
    serials = try Table(count: columns * rows)
    qualities = try Table(count: columns * rows)
  }

  /// Whether it is of a picture so large.
  func has(columns: Int, rows: Int) -> Bool { self.columns == columns && self.rows == rows }
}
