import PipeWire

/// Makes pictures of half a frame's width and height, for want of memory: each pixel is the mean of
/// four. It holds two rows.
final class FrameHalver {
  private var rows: [UInt32]
  private let width: Int

  /// `width` is the picture's.
  init(width: Int) {
    self.width = width
    rows = [UInt32](repeating: 0, count: 2 * width)
  }

  /// Calls `body` with each two rows of the picture, in BGRx as the frame's, and the first one's number.
  func forEachPair(
    of frame: borrowing Frame, stripeRows: Int, height: Int,
    _ body: (UnsafePointer<UInt8>, Int, Int) -> Void
  ) throws(SharedBufferError) {
    // Whole pairs of the picture, four rows of the frame each.
    let stripe = max(4, stripeRows & ~3)
    for first in stride(from: 0, to: 2 * height, by: stripe) {
      let end = min(first + stripe, 2 * height)
      let stride = frame.stride
      try unsafe frame.withRows(first..<end) { pixels in
        for y in Swift.stride(from: first, to: end, by: 4) {
          let count = min(2, (end - y) / 2)
          for row in 0..<count {
            let top = (y + 2 * row - first) * stride
            unsafe halve(
              UnsafeRawBufferPointer(rebasing: pixels[top...]),
              UnsafeRawBufferPointer(rebasing: pixels[(top + stride)...]), into: row * width)
          }
          unsafe rows.withUnsafeBytes { rows in
            unsafe body(rows.baseAddress!.assumingMemoryBound(to: UInt8.self), y / 2, count)
          }
        }
      }
    }
  }

  private func halve(
    _ top: UnsafeRawBufferPointer, _ bottom: UnsafeRawBufferPointer, into start: Int
  ) {
    for x in 0..<width {
      let above = unsafe mean(
        top.loadUnaligned(fromByteOffset: 8 * x, as: UInt32.self),
        top.loadUnaligned(fromByteOffset: 8 * x + 4, as: UInt32.self))
      let below = unsafe mean(
        bottom.loadUnaligned(fromByteOffset: 8 * x, as: UInt32.self),
        bottom.loadUnaligned(fromByteOffset: 8 * x + 4, as: UInt32.self))
      rows[start + x] = mean(above, below)
    }
  }

  /// Of four bytes each, rounded down.
  @inline(__always) private func mean(_ one: UInt32, _ other: UInt32) -> UInt32 {
    (one & other) &+ ((one ^ other) & 0xfefe_fefe) &>> 1
  }
}
