import CVA

/// The pixels of a surface, mapped for writing. Reading them back may be very slow: some drivers
/// map uncached memory.
@safe
package struct MappedImage: ~Copyable {
  /// One byte a sample, rows `lumaStride` bytes apart. Valid until `finish` or the value's end.
  package let luma: UnsafeMutablePointer<UInt8>
  package let lumaStride: Int
  /// Cb and Cr by turns, half as many rows, `chromaStride` bytes apart.
  package let chroma: UnsafeMutablePointer<UInt8>
  package let chromaStride: Int

  private let display: Display
  private let image: VAImage
  private var isMapped = true
  /// The surface to copy to, where the driver lets no image be derived from it.
  private let target: VASurfaceID?

  /// Maps the surface itself where the driver can, else an image beside it that `finish` copies.
  /// `width` and `height` are the surface's.
  package init(of surface: borrowing Surface, width: Int, height: Int) throws(VAError) {
    let display = surface.display
    var image = VAImage()
    var isDerived = unsafe vaDeriveImage(display.handle, surface.id, &image) == VA_STATUS_SUCCESS
    if isDerived, image.format.fourcc != nv12 {
      unsafe vaDestroyImage(display.handle, image.image_id)
      isDerived = false
    }
    if !isDerived {
      var format = VAImageFormat()
      format.fourcc = nv12
      format.byte_order = UInt32(VA_LSB_FIRST)
      format.bits_per_pixel = 12
      try unsafe check(
        vaCreateImage(display.handle, &format, Int32(width), Int32(height), &image),
        "vaCreateImage")
    }
    var base: UnsafeMutableRawPointer?
    let status = unsafe vaMapBuffer(display.handle, image.buf, &base)
    guard status == VA_STATUS_SUCCESS, let base = unsafe base else {
      unsafe vaDestroyImage(display.handle, image.image_id)
      throw .failed(call: "vaMapBuffer", status: status)
    }
    let bytes = unsafe base.assumingMemoryBound(to: UInt8.self)
    unsafe luma = bytes + Int(image.offsets.0)
    unsafe chroma = bytes + Int(image.offsets.1)
    lumaStride = Int(image.pitches.0)
    chromaStride = Int(image.pitches.1)
    self.display = display
    self.image = image
    target = isDerived ? nil : surface.id
  }

  deinit {
    if isMapped { unsafe vaUnmapBuffer(display.handle, image.buf) }
    unsafe vaDestroyImage(display.handle, image.image_id)
  }

  /// Whether this is the surface itself, which keeps what was written before; else it is all new.
  package var isSurface: Bool { target == nil }

  /// Ends the writing: the surface now holds what was written.
  package consuming func finish() throws(VAError) {
    isMapped = false
    try unsafe check(vaUnmapBuffer(display.handle, image.buf), "vaUnmapBuffer")
    guard let target else { return }
    let width = UInt32(image.width)
    let height = UInt32(image.height)
    try unsafe check(
      vaPutImage(
        display.handle, target, image.image_id, 0, 0, width, height, 0, 0, width, height),
      "vaPutImage")
  }
}
