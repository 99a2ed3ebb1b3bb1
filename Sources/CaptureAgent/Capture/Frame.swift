import PipeWire
import Pixels

/// A raw picture that lies in a buffer of the screen's source.
///
/// The buffer goes back to the source when the frame ends, on whatever thread: end it early, for
/// the source has two or three of them.
struct Frame: ~Copyable, Sendable {
  let format: PixelFormat
  /// What its Y, Cb and Cr are, where it has them.
  let colour: FrameColour
  /// What shows it upright.
  let orientation: Orientation
  /// When the source made it, in nanoseconds of CLOCK_MONOTONIC.
  let pts: Int64
  /// What may have changed since the last frame taken from the slot; nil says anything may have.
  var damage: Rectangle?
  /// nil when only the processor can read it.
  let dmaBuf: DMABufPicture?
  /// The part of the buffer's picture that it shows.
  let crop: Rectangle
  /// Of the buffer's picture, as was agreed; of pixels it is not asked.
  let codedSize: FrameSize
  fileprivate let lease: BufferLease
  fileprivate let planes: PlaneLayouts

  /// `planes` are those of the whole picture, of which `crop` is shown; nil when the shown rows do not lie
  /// in the buffer, which then goes back at once. Frames that only a device reads are not looked at so.
  /// `codedSize` is that of a JPEG, which is no pixels yet.
  init?(
    lease: consuming BufferLease, format: PixelFormat, planes: PlaneLayouts, crop: Rectangle,
    codedSize: FrameSize = FrameSize(0, 0), colour: FrameColour = .standard, pts: Int64,
    orientation: Orientation = .upright,
    damage: Rectangle? = nil, dmaBuf: DMABufPicture? = nil
  ) {
    guard crop.width > 0, crop.height > 0, crop.x >= 0, crop.y >= 0 else { return nil }
    if format == .mjpeg {
      guard planes[0].offset >= 0,
        planes[0].offset + planes[0].stride <= lease.byteCount(ofBlock: 0)
      else { return nil }
    }
    for index in 0..<(format == .mjpeg ? 0 : format.planeCount) {
      let layout = planes[index]
      let bytes = format.plane(index).range(
        of: crop.y..<crop.y + crop.height, from: crop.x, count: crop.width, in: layout)
      guard layout.block < lease.blockCount,
        layout.stride >= format.plane(index).byteCount(ofPixels: crop.width, from: crop.x),
        bytes.lowerBound >= 0, bytes.upperBound <= lease.byteCount(ofBlock: layout.block)
      else { return nil }
    }
    self.lease = lease
    self.format = format
    self.planes = planes
    self.crop = crop
    self.codedSize = codedSize
    self.colour = colour
    self.pts = pts
    self.orientation = orientation
    self.damage = damage
    self.dmaBuf = dmaBuf
  }

  /// A picture of one plane, the first of whose pixels stands `offset` bytes from its buffer's start.
  init?(
    lease: consuming BufferLease, offset: Int, format: PixelFormat, width: Int, height: Int,
    stride: Int, pts: Int64, orientation: Orientation = .upright, damage: Rectangle? = nil,
    dmaBuf: DMABufPicture? = nil
  ) {
    var planes = PlaneLayouts.none
    planes[0] = PlaneLayout(offset: offset, stride: stride)
    self.init(
      lease: lease, format: format, planes: planes,
      crop: Rectangle(x: 0, y: 0, width: width, height: height), pts: pts,
      orientation: orientation, damage: damage, dmaBuf: dmaBuf)
  }

  /// Of a JPEG, in bytes.
  var codedByteCount: Int { planes[0].stride }
  /// Whether a JPEG ends where its buffer does: a larger one would have been cut off.
  var fillsItsBuffer: Bool {
    planes[0].offset + planes[0].stride == lease.byteCount(ofBlock: 0)
  }

  var width: Int { crop.width }
  var height: Int { crop.height }

  /// From one row's first byte to the next one's.
  func stride(ofPlane index: Int = 0) -> Int { planes[index].stride }

  /// Its source has taken the buffer away, and may use its memory for something else.
  var isRevoked: Bool { lease.isRevoked }

  /// What pictures of it depend on.
  var shape: FrameShape { FrameShape(width: width, height: height, orientation: orientation) }

  /// Whether its first column is the second pixel of a sample that two share.
  var beginsInSample: Bool { format.isYCbCr && crop.x & 1 == 1 }

  /// In which of a plane's rows each of these rows is, counted from the first one's.
  func lines(of rows: Range<Int>, inPlane index: Int) -> FrameLines {
    FrameLines(top: crop.y + rows.lowerBound, down: format.plane(index).down)
  }

  /// Maps a plane's samples for these rows for the time of the call. The first byte is that of the first
  /// row's first sample; the last row ends with its last sample, without the rest of its stride.
  borrowing func withRows(
    _ rows: Range<Int>, ofPlane index: Int = 0, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    precondition(rows.lowerBound >= 0 && rows.upperBound <= height && !rows.isEmpty)
    let layout = planes[index]
    let bytes = format.plane(index).range(
      of: crop.y + rows.lowerBound..<crop.y + rows.upperBound, from: crop.x, count: crop.width,
      in: layout)
    try unsafe lease.withBytes(bytes, ofBlock: layout.block, body)
  }
}

extension Frame {
  /// Copies a JPEG's bytes from byte `first` on, once, since its source may change them at any time; answers how
  /// many these are, 0 behind its end and where it cannot be read.
  borrowing func copyCoded(from first: Int, into bytes: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(bytes.count, codedByteCount - first)
    guard count > 0 else { return 0 }
    let start = planes[0].offset + first
    do throws(SharedBufferError) {
      try unsafe lease.withBytes(start..<start + count) { unsafe bytes.copyMemory(from: $0) }
      return count
    } catch {
      return 0
    }
  }
}

/// Which row of a plane holds a row of pixels, both counted from the first that is looked at.
struct FrameLines: Sendable {
  fileprivate let top: Int
  fileprivate let down: Int

  subscript(row: Int) -> Int { (top + row) >> down - top >> down }
}

extension PixelFormat.Plane {
  /// The bytes of a block that hold these rows, `count` pixels of each from pixel `first` on.
  fileprivate func range(
    of rows: Range<Int>, from first: Int, count: Int, in layout: PlaneLayout
  ) -> Range<Int> {
    let own = self.rows(of: rows)
    let left = layout.offset + first >> across * byteCount
    let start = left + own.lowerBound * layout.stride
    let end =
      left + (own.upperBound - 1) * layout.stride + byteCount(ofPixels: count, from: first)
    return min(start, end)..<max(start, end)
  }
}
