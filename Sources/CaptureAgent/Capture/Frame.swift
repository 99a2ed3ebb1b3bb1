import PipeWire
import Pixels

/// A raw picture that lies in a buffer of the screen's source.
///
/// The buffer goes back to the source when the frame ends, on whatever thread: end it early, for
/// the source has two or three of them.
struct Frame: ~Copyable, Sendable {
  let format: PixelFormat
  let width: Int
  let height: Int
  /// What shows it upright.
  let orientation: Orientation
  /// From one row's first byte to the next one's.
  let stride: Int
  /// When the source made it, in nanoseconds of CLOCK_MONOTONIC.
  let pts: Int64
  /// What may have changed since the last frame taken from the slot; nil says anything may have.
  var damage: Rectangle?
  /// nil when only the processor can read it.
  let dmaBuf: DMABufPicture?
  private let lease: BufferLease
  private let offset: Int

  /// `offset` is the first pixel's, in bytes from the buffer's start; nil when the rows do not fit
  /// into the buffer, which then goes back at once.
  init?(
    lease: consuming BufferLease, offset: Int, format: PixelFormat, width: Int, height: Int,
    stride: Int, pts: Int64, orientation: Orientation = .upright, damage: Rectangle? = nil,
    dmaBuf: DMABufPicture? = nil
  ) {
    let rowByteCount = width * PixelFormat.byteCount
    guard width > 0, height > 0, stride >= rowByteCount, offset >= 0,
      offset + (height - 1) * stride + rowByteCount <= lease.byteCount
    else { return nil }
    self.lease = lease
    self.offset = offset
    self.format = format
    self.width = width
    self.height = height
    self.stride = stride
    self.pts = pts
    self.orientation = orientation
    self.damage = damage
    self.dmaBuf = dmaBuf
  }

  /// Its source has taken the buffer away, and may use its memory for something else.
  var isRevoked: Bool { lease.isRevoked }

  /// What pictures of it depend on.
  var shape: FrameShape { FrameShape(width: width, height: height, orientation: orientation) }

  /// Maps these rows for the time of the call. The first byte is that of the first row's first
  /// pixel; the last row ends with its last pixel, without the rest of its stride.
  borrowing func withRows(
    _ rows: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    precondition(rows.lowerBound >= 0 && rows.upperBound <= height && !rows.isEmpty)
    let first = offset + rows.lowerBound * stride
    let last = offset + (rows.upperBound - 1) * stride + width * PixelFormat.byteCount
    try unsafe lease.withBytes(first..<last, body)
  }
}
