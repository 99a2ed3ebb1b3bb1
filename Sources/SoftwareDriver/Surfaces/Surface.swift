internal import CVA

/// A picture of the client's.
final class Surface {
  let layout: SurfaceLayout
  let pixels: SurfacePixels

  /// What the encoder remembers of a reconstruction; nil until the surface first was one.
  var reconstruction: Reconstruction?
  /// False once the client wrote pixels over a reconstruction: it is no reference any more.
  var isReference = false
  /// frame_num of the picture that was reconstructed here.
  var frameNum: UInt32 = 0
  /// When the last picture that used the surface is over, on the steady clock.
  var readyAt: UInt64 = 0
  /// Images derived from this surface that the client still holds.
  var derivedImages = 0
  /// An image derived before and given back, so that the next one allocates nothing.
  var spareImage: SpareImage?

  /// What the video processor has yet to do to the surface, in a driver that puts it off.
  var pending: PendingProcess?

  struct PendingProcess {
    let processor: ProcessContext
    let job: ProcessJob
    let source: Surface
  }

  struct SpareImage {
    let image: DriverImage
    let buffer: DriverBuffer
  }

  /// A surface in memory of our own.
  init(
    format: SurfaceFormat = .nv12, width: Int, height: Int, keptByteCount: Int
  ) throws(DriverError) {
    layout = try SurfaceLayout(format: format, width: width, height: height)
    pixels = try SurfacePixels(byteCount: layout.byteCount, keptByteCount: keptByteCount)
  }

  /// A surface in somebody else's memory.
  init(layout: SurfaceLayout, in file: SharedFile) throws(DriverError) {
    self.layout = layout
    pixels = SurfacePixels(byteCount: layout.byteCount, in: file)
  }

  var width: Int { layout.width }
  var height: Int { layout.height }

  /// Holds all pixels, until as many calls of `pixels.release`.
  func hold() throws(DriverError) -> PictureView {
    let base = unsafe try pixels.hold()
    return unsafe PictureView(of: layout, at: base)
  }

  var isIdle: Bool { readyAt == 0 || readyAt <= steadyNanoseconds() }

  /// Refuses a surface that a picture under way still uses.
  func checkIdle() throws(DriverError) {
    guard isIdle else {
      throw .surfaceBusy.because("a surface touched before the picture that uses it was waited for")
    }
  }

  /// Refuses a surface that cannot be written; else it is about to be, and no reference any more.
  func prepareWriting() throws(DriverError) {
    try checkIdle()
    guard pixels.file.isWritable else {
      throw .invalidSurface.because("a surface in memory that may only be read")
    }
    isReference = false
    pending = nil
  }

  /// Does what was put off, before anybody looks at the pixels.
  func settle() throws(DriverError) {
    guard let pending else { return }
    self.pending = nil
    try pending.processor.process(pending.job, from: pending.source, to: self)
  }

  /// Whether a picture of so many macroblocks can be encoded from or into this.
  func holds(columns: Int, rows: Int) -> Bool {
    layout.format == .nv12 && layout.stride >= columns * 16 && layout.rows >= rows * 16
  }
}
