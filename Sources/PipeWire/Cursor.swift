import CPipeWire
import Glibc

/// A pointer that a producer describes beside its pictures, and does not draw.
package struct Cursor: Equatable, Sendable {
  /// Where the hotspot is, in pixels from the shown part's corner; outside of it too.
  package var x, y: Int
  package let shape: CursorShape

  package init(x: Int, y: Int, shape: CursorShape) {
    self.x = x
    self.y = y
    self.shape = shape
  }

  package static func == (one: Cursor, other: Cursor) -> Bool {
    (one.x, one.y) == (other.x, other.y) && one.shape === other.shape
  }
}

/// What a pointer looks like. It never changes: another look is another shape.
package final class CursorShape: Sendable {
  /// At most so many pixels wide and high: what mutter has at most.
  package static let largestSide = 384
  package static let largestByteCount = largestSide * largestSide * 4

  package let width, height: Int
  /// Of the pixel that is at the pointer's place; anywhere.
  package let hotspotX, hotspotY: Int
  /// Rows without gaps: blue, green, red and alpha from the lowest byte on, colours multiplied by alpha and
  /// none above it.
  package let pixels: [UInt32]

  /// `pixels` has `width * height` elements.
  package init(width: Int, height: Int, hotspotX: Int, hotspotY: Int, pixels: [UInt32]) {
    precondition(pixels.count == width * height, "a shape is as large as its rows")
    self.width = width
    self.height = height
    self.hotspotX = hotspotX
    self.hotspotY = hotspotY
    self.pixels = pixels
  }

  private func isLike(_ other: CursorShape) -> Bool {
    (width, height, hotspotX, hotspotY)
      == (other.width, other.height, other.hotspotX, other.hotspotY) && pixels == other.pixels
  }

  /// The same value again is the same object, so that nobody prepares it anew.
  fileprivate func kept(over other: CursorShape?) -> CursorShape {
    guard let other, isLike(other) else { return self }
    return other
  }
}

/// What the buffers of a stream have said of the pointer so far.
struct CursorNews {
  /// Where it is, in pixels of the agreed format's size; nil: nowhere.
  private(set) var cursor: Cursor?
  private var shape: CursorShape?
  /// Descriptions that were none.
  private(set) var refusedCount = 0

  /// Which sizes of the meta are asked for, in bytes: producers insist on one size (mutter on the largest),
  /// or have a range too.
  static let metaByteCounts = byteCount(1)...byteCount(CursorShape.largestSide)
  static let usualMetaByteCount = byteCount(64)

  private static func byteCount(_ side: Int) -> Int {
    MemoryLayout<spa_meta_cursor>.size + MemoryLayout<spa_meta_bitmap>.size + side * side * 4
  }

  static func isTold(in buffer: UnsafePointer<spa_buffer>) -> Bool {
    unsafe spa_buffer_find_meta(buffer, SPA_META_Cursor.rawValue) != nil
  }

  /// Takes what `buffer` says. What is not as it must be changes nothing.
  mutating func take(from buffer: UnsafePointer<spa_buffer>) {
    guard let meta = unsafe spa_buffer_find_meta(buffer, SPA_META_Cursor.rawValue),
      let data = unsafe meta.pointee.data
    else { return }
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: Int(meta.pointee.size))
    guard bytes.count >= MemoryLayout<spa_meta_cursor>.size else { return }
    let told = unsafe ph_read_cursor(data.assumingMemoryBound(to: spa_meta_cursor.self))
    // No pointer here: it is on another screen, or hidden.
    guard told.id != 0 else {
      cursor = nil
      return
    }
    if told.bitmap_offset != 0 {
      guard let bitmap = unsafe Bitmap(in: bytes, at: Int(told.bitmap_offset)) else {
        refusedCount += 1
        return
      }
      shape = unsafe bitmap.shape(
        hotspot: (Int(told.hotspot.x), Int(told.hotspot.y)), in: bytes)?.kept(over: shape)
    }
    cursor = shape.map { Cursor(x: Int(told.position.x), y: Int(told.position.y), shape: $0) }
  }
}

/// A bitmap whose every byte lies within its meta.
private struct Bitmap {
  private var width = 0
  private var height = 0
  private var stride = 0
  private var start = 0
  /// At which byte of a pixel its colours are, and its alpha, if it has one.
  private var order: (red: Int, green: Int, blue: Int, alpha: Int?) = (0, 0, 0, nil)

  /// nil when it is none that can be read.
  init?(in bytes: UnsafeRawBufferPointer, at offset: Int) {
    let header = MemoryLayout<spa_meta_bitmap>.size
    guard offset >= MemoryLayout<spa_meta_cursor>.size,
      offset.isMultiple(of: MemoryLayout<spa_meta_bitmap>.alignment),
      offset <= bytes.count - header, let base = bytes.baseAddress
    else { return nil }
    let told = unsafe ph_read_bitmap((base + offset).assumingMemoryBound(to: spa_meta_bitmap.self))
    // Shows nothing.
    guard told.offset != 0, told.size.width != 0, told.size.height != 0 else { return }
    guard told.size.width <= UInt32(CursorShape.largestSide),
      told.size.height <= UInt32(CursorShape.largestSide), Int(told.offset) >= header,
      let order = Self.order(of: told.format)
    else { return nil }
    self.order = order
    width = Int(told.size.width)
    height = Int(told.size.height)
    stride = Int(told.stride)
    start = offset + Int(told.offset)
    guard stride >= width * 4, start + (height - 1) * stride + width * 4 <= bytes.count else {
      return nil
    }
  }

  /// nil when it shows nothing.
  func shape(hotspot: (x: Int, y: Int), in bytes: UnsafeRawBufferPointer) -> CursorShape? {
    guard width > 0 else { return nil }
    let pixels = unsafe [UInt32](unsafeUninitializedCapacity: width * height) { pixels, count in
      count = width * height
      guard let to = pixels.baseAddress, let from = bytes.baseAddress else { return }
      // Copied first: what is looked at must not change any more.
      for row in 0..<height {
        unsafe memcpy(to + row * width, from + start + row * stride, width * 4)
      }
      for index in 0..<count { unsafe pixels[index] = Self.pixel(pixels[index], in: order) }
    }
    return CursorShape(
      width: width, height: height, hotspotX: hotspot.x, hotspotY: hotspot.y, pixels: pixels)
  }

  private static func pixel(
    _ word: UInt32, in order: (red: Int, green: Int, blue: Int, alpha: Int?)
  ) -> UInt32 {
    func byte(_ index: Int) -> UInt32 { word >> UInt32(8 * index) & 0xff }
    let alpha = order.alpha.map(byte) ?? 255
    // One above alpha would be lighter than white.
    let red = min(byte(order.red), alpha)
    let green = min(byte(order.green), alpha)
    let blue = min(byte(order.blue), alpha)
    return alpha << 24 | red << 16 | green << 8 | blue
  }

  private static func order(
    of format: UInt32
  ) -> (red: Int, green: Int, blue: Int, alpha: Int?)? {
    switch PixelFormat(spa: format) {
    case .bgrx: (2, 1, 0, nil)
    case .bgra: (2, 1, 0, 3)
    case .rgbx: (0, 1, 2, nil)
    case .rgba: (0, 1, 2, 3)
    case .xrgb: (1, 2, 3, nil)
    case .argb: (1, 2, 3, 0)
    case .xbgr: (3, 2, 1, nil)
    case .abgr: (3, 2, 1, 0)
    default: nil
    }
  }
}
