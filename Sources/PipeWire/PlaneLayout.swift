import CPipeWire

/// Where a plane's bytes lie in its buffer, as the producer said with a picture.
package struct PlaneLayout: Equatable, Sendable {
  /// Which of the buffer's blocks of memory it is in.
  package let block: Int
  /// Of its first sample, in bytes from the block's start.
  package let offset: Int
  /// From one row's first byte to the next one's.
  package let stride: Int

  package init(block: Int = 0, offset: Int, stride: Int) {
    self.block = block
    self.offset = offset
    self.stride = stride
  }
}

/// As many planes as a buffer has at most; strides of 0 where there are none.
package typealias PlaneLayouts = InlineArray<4, PlaneLayout>

extension InlineArray where Element == PlaneLayout {
  package static var none: Self { Self(repeating: PlaneLayout(offset: 0, stride: 0)) }
}

/// What one block of a buffer holds of a picture, as its producer said.
struct FilledBlock {
  /// Where that begins, and how much it is, in bytes.
  let offset: Int
  let byteCount: Int
  /// Of the first plane in it; 0: of rows without a gap, as GStreamer's sink has it.
  let stride: Int

  /// nil when it says more than there is.
  init?(_ chunk: spa_chunk, of byteCount: Int) {
    guard chunk.stride >= 0, Int(chunk.offset) + Int(chunk.size) <= byteCount else { return nil }
    offset = Int(chunk.offset)
    self.byteCount = Int(chunk.size)
    stride = Int(chunk.stride)
  }

  /// The stride of `plane` when it is the block's first one. Rows without a gap begin at whole words.
  func stride(of plane: PixelFormat.Plane, width: Int) -> Int {
    stride > 0 ? stride : (plane.byteCount(ofPixels: width) + 3) & ~3
  }

  /// Whether so many rows of `plane` from `offset` on lie in what was filled.
  func holds(
    _ plane: PixelFormat.Plane, width: Int, rows: Int, offset: Int, stride: Int
  ) -> Bool {
    let rowByteCount = plane.byteCount(ofPixels: width)
    return stride >= rowByteCount
      && offset + (rows - 1) * stride + rowByteCount <= self.offset + byteCount
  }

  /// All planes of a picture, one behind the other; nil when they do not fit.
  func planes(of format: VideoFormat) -> PlaneLayouts? {
    let pixel = format.pixel
    let first = stride(of: pixel.plane(0), width: format.width)
    let hasHalfRows = pixel.plane(pixel.planeCount - 1).down > 0
    if pixel.planeCount > 1 {
      // GStreamer's way of laying odd sizes out, where there is room for it: an even number of rows where
      // chroma has half of them, and each plane's rows in whole words. Else nothing lies between rows that
      // are needed.
      let rows = hasHalfRows ? (format.height + 1) & ~1 : format.height
      let half = ((format.width + 1) / 2 + 3) & ~3
      if first == (format.width + 3) & ~3,
        let planes = planes(
          of: format, first, half: half, lumaRows: rows, chromaRows: hasHalfRows ? rows / 2 : rows)
      {
        return planes
      }
    }
    return planes(
      of: format, first, half: (first + 1) / 2, lumaRows: format.height,
      chromaRows: hasHalfRows ? (format.height + 1) / 2 : format.height)
  }

  /// `half` is the stride of a plane of half the width.
  private func planes(
    of format: VideoFormat, _ first: Int, half: Int, lumaRows: Int, chromaRows: Int
  ) -> PlaneLayouts? {
    var planes = PlaneLayouts.none
    var next = offset
    for index in 0..<format.pixel.planeCount {
      let plane = format.pixel.plane(index)
      let stride = plane.across == 1 && plane.byteCount == 1 ? half : first
      let rows = index == 0 ? lumaRows : chromaRows
      planes[index] = PlaneLayout(offset: next, stride: stride)
      let shown = plane.rows(of: 0..<format.height).count
      guard holds(plane, width: format.width, rows: shown, offset: next, stride: stride) else {
        return nil
      }
      next += rows * stride
    }
    // The last plane must have room for its last rows too, or it is not laid out so.
    return next <= offset + byteCount || lumaRows == format.height ? planes : nil
  }
}
