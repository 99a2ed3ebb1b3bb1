/// What the encoder remembers of a picture it made, macroblock by macroblock in raster order.
@safe final class Reconstruction {
  /// Hash of the source pixels that the macroblock was coded from.
  let hashes: Table<UInt64>
  /// Names the macroblock's pixels: equal serials at one place in two surfaces, equal pixels.
  let serials: Table<UInt32>
  /// The QP whose fidelity the macroblock has reached; `unknownQuality` asks for a look.
  let qualities: Table<UInt8>

  static let unknownQuality: UInt8 = 255

  init(macroblockCount: Int) throws(DriverError) {
    hashes = try Table(count: macroblockCount)
    serials = try Table(count: macroblockCount)
    qualities = try Table(count: macroblockCount)
  }
}
