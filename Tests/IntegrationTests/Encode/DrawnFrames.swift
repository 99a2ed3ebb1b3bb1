import Glibc
import PipeWire
import Pixels
import Testing

@testable import CaptureAgent

/// A frame source for tests: BGRx pixels in a file without a name, drawn by the test, lent the way a screen's are.
final class DrawnFrames {
  let width: Int
  let height: Int
  let stride: Int
  private let fd: Int32
  private let buffer: SharedBuffer
  private let loop: Loop

  /// The stride is longer than the row, as compositors like it.
  init(width: Int, height: Int) throws {
    self.width = width
    self.height = height
    stride = (width * 4 + 255) / 256 * 256
    loop = try Loop()
    var name = Array("/tmp/porthole-frames-XXXXXX".utf8CString)
    fd = mkstemp(&name)
    unlink(name)
    try #require(fd >= 0 && ftruncate(fd, stride * height) == 0)
    buffer = try SharedBuffer(
      fd: fd, offset: 0, byteCount: stride * height, returned: loop.addEvent {})
  }

  deinit { close(fd) }

  /// Draws every pixel of `rows` by `color`, 0xRRGGBB.
  func draw(_ color: (_ x: Int, _ y: Int) -> UInt32, rows: Range<Int>? = nil) {
    var row = [UInt32](repeating: 0, count: width)
    for y in rows ?? 0..<height {
      for x in 0..<width { row[x] = color(x, y) }
      pwrite(fd, row, width * 4, y * stride)
    }
  }

  /// What lies in the buffer now, as a frame.
  func frame(damage: Rectangle? = nil, orientation: Orientation = .upright) -> Frame {
    let frame = Frame(
      lease: buffer.lend(), offset: 0, format: .bgrx, width: width, height: height,
      stride: stride, pts: 0, orientation: orientation, damage: damage)
    guard let frame else { fatalError("the buffer is as long as its rows") }
    return frame
  }
}
