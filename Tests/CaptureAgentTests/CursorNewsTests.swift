import CPipeWire
import Glibc
import TestSupport
import Testing

@testable import PipeWire

/// What buffers say of the pointer: another process's words, which may be any.
struct CursorNewsTests {
  private static let usual = UInt32(MemoryLayout<spa_meta_cursor>.size)
  private static let header = UInt32(MemoryLayout<spa_meta_bitmap>.size)

  @Test(
    arguments: [
      (SPA_VIDEO_FORMAT_BGRA, 0x80_40_20_10, 0x80_40_20_10),
      (SPA_VIDEO_FORMAT_RGBA, 0x80_40_20_10, 0x80_10_20_40),
      (SPA_VIDEO_FORMAT_ARGB, 0x40_20_10_80, 0x80_10_20_40),
      (SPA_VIDEO_FORMAT_ABGR, 0x40_20_10_80, 0x80_40_20_10),
      (SPA_VIDEO_FORMAT_BGRx, 0x00_40_20_10, 0xff_40_20_10),
      (SPA_VIDEO_FORMAT_RGBx, 0x00_40_20_10, 0xff_10_20_40),
      (SPA_VIDEO_FORMAT_xRGB, 0x40_20_10_00, 0xff_10_20_40),
      (SPA_VIDEO_FORMAT_xBGR, 0x40_20_10_00, 0xff_40_20_10),
      // A colour above alpha is cut down to it.
      (SPA_VIDEO_FORMAT_BGRA, 0x20_ff_10_00, 0x20_20_10_00),
    ] as [(spa_video_format, UInt32, UInt32)])
  func `a bitmap's pixels come as blue, green, red and alpha, from wherever they lie`(
    format: spa_video_format, word: UInt32, pixel: UInt32
  ) throws {
    let meta = MetaMemory(byteCount: 4096)
    meta.say(
      (1, -5, 7, 2, 3, Self.usual + 4),
      bitmap: (format.rawValue, 3, 2, 20, Self.header + 8))
    for row in 0..<2 {
      for column in 0..<3 {
        meta.put(word, at: Int(Self.usual + 4 + Self.header) + 8 + row * 20 + column * 4)
      }
    }
    var news = CursorNews()
    news.take(from: meta.buffer)
    let cursor = try #require(news.cursor)
    #expect((cursor.x, cursor.y) == (-5, 7))
    #expect((cursor.shape.width, cursor.shape.height) == (3, 2))
    #expect((cursor.shape.hotspotX, cursor.shape.hotspotY) == (2, 3))
    #expect(cursor.shape.pixels == [UInt32](repeating: pixel, count: 6))
  }

  @Test
  func `no id hides the pointer, no bitmap leaves it as it looks, and an empty one shows nothing`()
  {
    let meta = MetaMemory(byteCount: 4096)
    var news = CursorNews()
    func say(id: UInt32 = 1, x: Int32, offset: UInt32, side: UInt32 = 4, pixels: UInt32? = nil) {
      meta.say(
        (id, x, 0, 0, 0, offset),
        bitmap: (SPA_VIDEO_FORMAT_BGRA.rawValue, side, side, 16, pixels ?? Self.header))
      news.take(from: meta.buffer)
    }
    say(x: 1, offset: 0)
    #expect(news.cursor == nil, "nobody said what it looks like")
    say(x: 2, offset: Self.usual)
    let shape = news.cursor?.shape
    #expect(news.cursor?.x == 2)
    say(x: 3, offset: 0)
    #expect(news.cursor?.x == 3 && news.cursor?.shape === shape)
    say(x: 4, offset: Self.usual)
    #expect(news.cursor?.x == 4 && news.cursor?.shape === shape, "it looks the same")
    say(id: 0, x: 5, offset: Self.usual)
    #expect(news.cursor == nil)
    say(x: 6, offset: 0)
    #expect(news.cursor?.shape === shape)
    say(x: 7, offset: Self.usual, side: 0)
    #expect(news.cursor == nil)
    say(x: 8, offset: Self.usual)
    say(x: 9, offset: Self.usual, pixels: 0)
    #expect(news.cursor == nil)
    #expect(news.refusedCount == 0)
  }

  @Test(
    arguments: [
      // Of the bitmap: where it begins.
      (1, 8, 8, 32, header), (usual - 4, 8, 8, 32, header), (usual + 2, 8, 8, 32, header),
      (4092, 8, 8, 32, header), (4096, 8, 8, 32, header), (.max, 8, 8, 32, header),
      (.max - 3, 8, 8, 32, header),
      // How large it is.
      (usual, 385, 1, 1540, header), (usual, 1, 385, 4, header), (usual, .max, .max, .max, header),
      (usual, 8, 8, 31, header), (usual, 8, 8, 0, header), (usual, 8, 8, -32, header),
      (usual, 8, 8, .min, header), (usual, 2, 384, 1 << 20, header), (usual, 32, 32, 128, header),
      // Where its pixels begin.
      (usual, 8, 8, 32, 4), (usual, 8, 8, 32, header - 1), (usual, 8, 8, 32, 4096),
      (usual, 8, 8, 32, .max),
    ] as [(UInt32, UInt32, UInt32, Int32, UInt32)])
  func `what does not lie within the meta changes nothing`(
    offset: UInt32, width: UInt32, height: UInt32, stride: Int32, pixels: UInt32
  ) {
    let meta = MetaMemory(byteCount: 4096)
    var news = CursorNews()
    meta.say(
      (1, 1, 1, 0, 0, Self.usual),
      bitmap: (SPA_VIDEO_FORMAT_BGRA.rawValue, 8, 8, 32, Self.header))
    news.take(from: meta.buffer)
    let before = news.cursor
    #expect(before != nil)
    meta.say(
      (1, 2, 2, 0, 0, offset),
      bitmap: (SPA_VIDEO_FORMAT_BGRA.rawValue, width, height, stride, pixels))
    news.take(from: meta.buffer)
    #expect(news.cursor == before)
    #expect(news.refusedCount == 1)
  }

  @Test(arguments: [SPA_VIDEO_FORMAT_UNKNOWN.rawValue, SPA_VIDEO_FORMAT_NV12.rawValue, 1 << 30])
  func `a bitmap in a format without bytes for its colours is refused`(format: UInt32) {
    let meta = MetaMemory(byteCount: 4096)
    var news = CursorNews()
    meta.say((1, 1, 1, 0, 0, Self.usual), bitmap: (format, 8, 8, 32, Self.header))
    news.take(from: meta.buffer)
    #expect(news.cursor == nil)
    #expect(news.refusedCount == 1)
  }

  // Behind the meta nothing is mapped: a byte too far is this process's end.
  @Test func `random words reach no byte beyond the meta`() {
    var random = SplitMix(seed: 11)
    var shown = 0
    for byteCount in [0, 4, 27, 28, 47, 48, 52, 4096] {
      let meta = MetaMemory(byteCount: byteCount)
      var news = CursorNews()
      for _ in 0..<2_000 {
        // Numbers near the borders, for the most part.
        func any() -> UInt32 {
          switch random.next() % 4 {
          case 0: UInt32(truncatingIfNeeded: random.next())
          case 1: UInt32(truncatingIfNeeded: Int(random.next() % 9) - 4 + byteCount)
          case 2: UInt32(random.next() % 64)
          default: [Self.usual, Self.header, 16, 32, 384][Int(random.next() % 5)]
          }
        }
        var words = [1, 0, 5, 5, 0, 0, Self.usual]
        var bitmap = [SPA_VIDEO_FORMAT_BGRA.rawValue, 4, 4, 16, Self.header]
        for _ in 0..<random.below(3) { words[random.below(7)] = any() }
        for _ in 0..<random.below(3) { bitmap[random.below(5)] = any() }
        for (index, word) in words.enumerated() { meta.put(word, at: index * 4) }
        for (index, word) in bitmap.enumerated() { meta.put(word, at: Int(words[6]) + index * 4) }
        news.take(from: meta.buffer)
        if news.cursor != nil { shown += 1 }
      }
    }
    #expect(shown > 500, "some of it is a pointer")
  }
}

/// A buffer with the pointer's meta, which ends where the memory does.
private final class MetaMemory {
  let buffer = UnsafeMutablePointer<spa_buffer>.allocate(capacity: 1)
  private let meta = UnsafeMutablePointer<spa_meta>.allocate(capacity: 1)
  private let pages: UnsafeMutableRawPointer
  private let start: UnsafeMutableRawPointer
  private let byteCount: Int
  private static let page = 4096

  init(byteCount: Int) {
    self.byteCount = byteCount
    pages = mmap(
      nil, 2 * Self.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    mprotect(pages + Self.page, Self.page, PROT_NONE)
    start = pages + Self.page - (byteCount + 3) / 4 * 4
    meta.initialize(
      to: spa_meta(type: SPA_META_Cursor.rawValue, size: UInt32(byteCount), data: start))
    buffer.initialize(to: spa_buffer(n_metas: 1, n_datas: 0, metas: meta, datas: nil))
  }

  deinit {
    munmap(pages, 2 * Self.page)
    meta.deallocate()
    buffer.deallocate()
  }

  func put(_ word: UInt32, at offset: Int) {
    guard offset >= 0, offset + 4 <= byteCount else { return }
    start.storeBytes(of: word, toByteOffset: offset, as: UInt32.self)
  }

  /// Id, place, hotspot and the bitmap's offset; of the bitmap its format, size, stride and the offset of its
  /// pixels. What lies outside is left out.
  func say(
    _ cursor: (UInt32, Int32, Int32, Int32, Int32, UInt32),
    bitmap: (UInt32, UInt32, UInt32, Int32, UInt32)
  ) {
    let words = [
      cursor.0, 0, UInt32(bitPattern: cursor.1), UInt32(bitPattern: cursor.2),
      UInt32(bitPattern: cursor.3), UInt32(bitPattern: cursor.4), cursor.5,
    ]
    for (index, word) in words.enumerated() { put(word, at: index * 4) }
    let told = [bitmap.0, bitmap.1, bitmap.2, UInt32(bitPattern: bitmap.3), bitmap.4]
    guard cursor.5 >= UInt32(MemoryLayout<spa_meta_cursor>.size) else { return }
    for (index, word) in told.enumerated() { put(word, at: Int(cursor.5) + index * 4) }
  }
}
