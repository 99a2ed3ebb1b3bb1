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
  private var deviceBuffer: DMABuf?
  private var deviceMemory: SharedBuffer?

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

  /// Draws a picture whose rows are like the one above where they are so at a few places.
  func drawGrid(_ color: (_ x: Int, _ y: Int) -> UInt32) {
    var row: [UInt32] = []
    var last: [UInt32] = []
    for y in 0..<height {
      let sample = (0..<16).map { color($0 * width / 16, y) }
      if sample != last { row = (0..<width).map { color($0, y) } }
      last = sample
      pwrite(fd, row, width * 4, y * stride)
    }
  }

  /// The same memory as a device would read it.
  func devicePicture(
    offset: Int = 0, modifier: UInt64 = 0, crop: Rectangle? = nil
  ) throws -> DMABufPicture {
    if deviceBuffer?.modifier != modifier {
      deviceBuffer = try DMABuf(fds: [fd], modifier: modifier)
    }
    var planes = InlineArray<4, PlaneLayout>(repeating: PlaneLayout(offset: 0, stride: 0))
    planes[0] = PlaneLayout(offset: offset, stride: stride)
    return DMABufPicture(
      buffer: deviceBuffer!, format: .bgrx, width: width, height: height - (offset > 0 ? 1 : 0),
      planes: planes, crop: crop ?? Rectangle(x: 0, y: 0, width: width, height: height))
  }

  /// A frame in such memory.
  func deviceFrame(
    modifier: UInt64 = 0, crop: Rectangle? = nil, orientation: Orientation = .upright
  ) throws -> Frame {
    let picture = try devicePicture(modifier: modifier, crop: crop)
    let shared = try SharedBuffer(picture.buffer, returned: loop.addEvent {})
    deviceMemory = shared
    let frame = Frame(
      lease: shared.lend(), offset: picture.crop.y * stride + picture.crop.x * 4, format: .bgrx,
      width: picture.crop.width, height: picture.crop.height, stride: stride, pts: 0,
      orientation: orientation, dmaBuf: picture)
    guard let frame else { fatalError("the buffer is as long as its rows") }
    return frame
  }

  /// Whether the last such frame was given back, so that its producer draws into it; once.
  func takeReturn() -> Bool { deviceMemory?.collect() ?? false }

  /// What lies in the buffer now, as a frame.
  func frame(damage: Rectangle? = nil, orientation: Orientation = .upright) -> Frame {
    let frame = Frame(
      lease: buffer.lend(), offset: 0, format: .bgrx, width: width, height: height,
      stride: stride, pts: 0, orientation: orientation, damage: damage)
    guard let frame else { fatalError("the buffer is as long as its rows") }
    return frame
  }
}
