/// Where a picture lies: NV12's luma rows and rows of interleaved Cb and Cr, or rows of four-byte
/// pixels in place of the luma, one stride for all.
@safe struct PictureView {
  let luma: UnsafeMutablePointer<UInt8>
  let chroma: UnsafeMutablePointer<UInt8>
  /// Bytes.
  let stride: Int

  /// What they point to stays its owner's, and must outlive the view.
  @unsafe init(
    luma: UnsafeMutablePointer<UInt8>, chroma: UnsafeMutablePointer<UInt8>, stride: Int
  ) {
    unsafe self.luma = luma
    unsafe self.chroma = chroma
    self.stride = stride
  }

  /// The picture of a layout whose memory begins at `base`.
  @unsafe init(of layout: SurfaceLayout, at base: UnsafeMutableRawPointer) {
    let base = unsafe base.assumingMemoryBound(to: UInt8.self)
    unsafe self.init(
      luma: base + layout.offset, chroma: base + layout.chromaOffset, stride: layout.stride)
  }

  /// The luma sample (`x`, `y`); nothing checks that it is in the picture.
  @unsafe @inline(__always) func luma(x: Int, y: Int) -> UnsafeMutablePointer<UInt8> {
    unsafe luma + (y &* stride &+ x)
  }

  /// The Cb of chroma sample (`x`, `y`); its Cr is the next byte.
  @unsafe @inline(__always) func chroma(x: Int, y: Int) -> UnsafeMutablePointer<UInt8> {
    unsafe chroma + (y &* stride &+ 2 &* x)
  }
}
