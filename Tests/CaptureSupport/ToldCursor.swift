import CPipeWire
import Glibc

/// What a producer says of the pointer beside a picture: each number as it stands in the meta.
package struct ToldCursor: Sendable {
  /// What it looks like.
  package struct Bitmap: Sendable {
    package var format = SPA_VIDEO_FORMAT_BGRA.rawValue
    package var width: UInt32
    package var height: UInt32
    package var stride: Int32
    /// Of the pixels, from the bitmap's start on.
    package var offset = UInt32(MemoryLayout<spa_meta_bitmap>.size)
    package var pixels: [UInt32]

    /// One colour, as it stands in memory.
    package init(side: Int, color: UInt32) {
      width = UInt32(side)
      height = UInt32(side)
      stride = Int32(side * 4)
      pixels = [UInt32](repeating: color, count: side * side)
    }
  }

  package var id: UInt32 = 1
  package var x: Int32
  package var y: Int32
  package var hotspotX: Int32 = 0
  package var hotspotY: Int32 = 0
  /// nil: 0, which says that it looks as before, or where the bitmap usually is.
  package var bitmapOffset: UInt32?
  package var bitmap: Bitmap?

  package init(x: Int32 = 0, y: Int32 = 0, bitmap: Bitmap? = nil) {
    self.x = x
    self.y = y
    self.bitmap = bitmap
  }

  package static let hidden: ToldCursor = {
    var cursor = ToldCursor()
    cursor.id = 0
    return cursor
  }()

  /// A meta for pointers of so many pixels each way.
  package static func byteCount(side: Int) -> Int {
    MemoryLayout<spa_meta_cursor>.size + MemoryLayout<spa_meta_bitmap>.size + side * side * 4
  }

  /// Says it in the meta that begins there and has `byteCount` bytes; what goes beyond is left out.
  package func say(in meta: UnsafeMutableRawPointer, byteCount: Int) {
    func put<Value>(_ value: Value, at offset: Int) {
      if offset >= 0, offset + MemoryLayout<Value>.size <= byteCount {
        meta.storeBytes(of: value, toByteOffset: offset, as: Value.self)
      }
    }
    let usual = MemoryLayout<spa_meta_cursor>.size
    let offset = bitmapOffset ?? (bitmap == nil ? 0 : UInt32(usual))
    put(
      spa_meta_cursor(
        id: id, flags: 0, position: spa_point(x: x, y: y),
        hotspot: spa_point(x: hotspotX, y: hotspotY), bitmap_offset: offset), at: 0)
    guard let bitmap, offset.isMultiple(of: 4) else { return }
    put(
      spa_meta_bitmap(
        format: bitmap.format,
        size: spa_rectangle(width: bitmap.width, height: bitmap.height), stride: bitmap.stride,
        offset: bitmap.offset), at: Int(offset))
    let first = Int(offset) + MemoryLayout<spa_meta_bitmap>.size
    for (index, pixel) in bitmap.pixels.enumerated() where bitmap.width > 0 {
      let (row, column) = (index / Int(bitmap.width), index % Int(bitmap.width))
      put(pixel, at: first + row * Int(bitmap.stride) + column * 4)
    }
  }
}
