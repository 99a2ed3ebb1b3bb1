import CJPEG
import CLinux
import Glibc
import PipeWire
import Posix

/// Makes frames of a camera's JPEGs: their samples lie in a file without a name that is mapped in parts, so
/// a frame is to be read before the next is made. For one thread.
@safe
final class JPEGDecoder {
  /// What it allocates.
  static let byteCount = Int(PORTHOLE_JPEG_BYTES)
  // libjpeg and what it maps of its own, measured: 604 and 20 KiB.
  static let codeByteCount = 640 << 10

  /// Whether libjpeg is there. The loop's thread asks before there is a decoder.
  static var isAvailable: Bool { porthole_jpeg_load() != 0 }

  // No picture needs more: three bytes a pixel, and room for what stands before them.
  private static let headerByteCount = 256 << 10

  private let raw: OpaquePointer
  private let file: OwnedFD
  private var samples: SharedBuffer?
  /// The one that is decoded.
  private var coded: Frame?
  private var position = 0
  private var isFull = false

  init() throws(EncoderError) {
    guard let raw = unsafe porthole_jpeg_create() else { throw .memory("no room to decode JPEGs") }
    unsafe self.raw = raw
    let flags = UInt32(MFD_CLOEXEC) | UInt32(MFD_ALLOW_SEALING)
    do throws(PosixError) {
      file = OwnedFD(try check(unsafe memfd_create("porthole-jpeg", flags), "memfd_create"))
    } catch {
      throw .memory("\(error)")
    }
  }

  deinit { unsafe porthole_jpeg_destroy(raw) }

  /// A frame of the same picture as samples; the JPEG's buffer goes back. One that is damaged, or not as large
  /// as was agreed, is none: `.frame` says why.
  func decode(_ frame: consuming Frame) throws(EncoderError) -> Frame {
    let (size, crop, pts, orientation) = (
      frame.codedSize, frame.crop, frame.pts, frame.orientation
    )
    guard frame.codedByteCount <= size.width * size.height * 3 + Self.headerByteCount else {
      throw .frame("a JPEG of \(frame.codedByteCount) bytes")
    }
    isFull = frame.fillsItsBuffer
    coded = consume frame
    position = 0
    defer { coded = nil }
    var picture = porthole_jpeg_picture()
    try unsafe demand(
      unsafe porthole_jpeg_begin(
        raw, Self.read, Unmanaged.passUnretained(self).toOpaque(), &picture))
    guard picture.width == size.width, picture.height == size.height else {
      throw .frame("a JPEG of \(picture.width)x\(picture.height)")
    }
    guard let layout = JPEGLayout(picture) else {
      throw .frame("a JPEG whose samples lie as none is read here")
    }
    let samples = try room(for: layout.byteCount)
    try decode(layout, width: size.width)
    guard
      let made = Frame(
        lease: samples.lend(), format: layout.format, planes: layout.planes, crop: crop,
        colour: .jpeg, pts: pts, orientation: orientation)
    else { throw .frame("a JPEG that lacks rows") }
    return made
  }

  /// As many bands at a time as are mapped of a frame of pixels.
  private func decode(_ layout: JPEGLayout, width: Int) throws(EncoderError) {
    let bandByteCount = layout.bandRows * layout.stride
    var places = layout.places
    let step = max(1, FrameConverter.stripeByteCount(width: width) / bandByteCount)
    for first in stride(from: 0, to: layout.bandCount, by: step) {
      let count = min(step, layout.bandCount - first)
      let offset = first * bandByteCount
      let skipped = offset % pageByteCount
      let length = skipped + count * bandByteCount
      let window = unsafe mmap(
        nil, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.raw, offset - skipped)
      guard let window = unsafe window, unsafe window != MAP_FAILED else {
        throw .memory("a picture's rows cannot be mapped")
      }
      defer { unsafe munmap(window, length) }
      let start = unsafe (window + skipped).assumingMemoryBound(to: UInt8.self)
      try unsafe demand(unsafe porthole_jpeg_decode(raw, start, &places, UInt32(count)))
    }
  }

  /// The file, grown where that is needed.
  private func room(for byteCount: Int) throws(EncoderError) -> SharedBuffer {
    if let samples, samples.byteCount(ofBlock: 0) >= byteCount { return samples }
    do throws(PosixError) {
      try check(ftruncate(file.raw, byteCount), "ftruncate")
      let made = try SharedBuffer(fd: file.raw, offset: 0, byteCount: byteCount, returned: nil)
      samples = made
      return made
    } catch {
      throw .memory("\(error)")
    }
  }

  /// nil, or the cause is thrown.
  private func demand(_ cause: UnsafePointer<CChar>?) throws(EncoderError) {
    guard let cause = unsafe cause else { return }
    throw .frame(
      isFull ? "a JPEG that its source's buffers are too small for" : unsafe String(cString: cause))
  }

  private static let read: porthole_jpeg_read = { context, bytes, capacity in
    let decoder = unsafe Unmanaged<JPEGDecoder>.fromOpaque(context!).takeUnretainedValue()
    return unsafe decoder.read(UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
  }

  private func read(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    let count = unsafe coded?.copyCoded(from: position, into: bytes) ?? 0
    position += count
    return count
  }
}

/// How a JPEG's planes lie in the file: side by side, so that one window holds a band of them all. Where
/// chroma has half of the rows, a row of Cb stands beside one of Y, and the row of Cr beside the next.
struct JPEGLayout {
  let format: PixelFormat
  let planes: PlaneLayouts
  /// From one row of Y to the next.
  let stride: Int
  /// Rows of Y in a band.
  let bandRows: Int
  let bandCount: Int

  /// Of three whole planes; a band has eight rows for each that an MCU has, which are four at most.
  static func largestBandByteCount(width: Int) -> Int { 32 * 3 * (width + 32) }

  var byteCount: Int { bandCount * bandRows * stride }

  var places: porthole_jpeg_places {
    porthole_jpeg_places(
      offsets: (planes[0].offset, planes[1].offset, planes[2].offset),
      strides: (planes[0].stride, planes[1].stride, planes[2].stride))
  }

  /// nil where chroma has other than all samples, half of them across, or half of them both ways.
  init?(_ picture: porthole_jpeg_picture) {
    let (luma, cb, cr) = picture.planes
    bandRows = Int(luma.down) * 8
    bandCount = Int(picture.band_count)
    let (width, half) = (Int(luma.width), Int(cb.width))
    var planes = PlaneLayouts.none
    if picture.plane_count == 1 {
      format = .gray8
      stride = width
    } else {
      guard (cb.across, cb.down) == (cr.across, cr.down), cb.across > 0, cb.down > 0 else {
        return nil
      }
      switch (luma.across, luma.down) {
      case (2 * cb.across, 2 * cb.down):
        format = .i420
        stride = width + half
        planes[1] = PlaneLayout(offset: width, stride: 2 * stride)
        planes[2] = PlaneLayout(offset: stride + width, stride: 2 * stride)
      case (2 * cb.across, cb.down), (cb.across, cb.down):
        format = luma.across == cb.across ? .y444 : .y42b
        stride = width + 2 * half
        planes[1] = PlaneLayout(offset: width, stride: stride)
        planes[2] = PlaneLayout(offset: width + half, stride: stride)
      default: return nil
      }
    }
    planes[0] = PlaneLayout(offset: 0, stride: stride)
    self.planes = planes
  }
}

private let pageByteCount = sysconf(Int32(_SC_PAGESIZE))
