/// Where an NV12 picture lies: luma rows, then rows of interleaved Cb and Cr, one stride for both.
@safe struct PictureView {
  let luma: UnsafeMutablePointer<UInt8>
  let chroma: UnsafeMutablePointer<UInt8>
  let stride: Int

  @unsafe @inline(__always) func luma(x: Int, y: Int) -> UnsafeMutablePointer<UInt8> {
    unsafe luma + (y &* stride &+ x)
  }

  /// The Cb of chroma sample (`x`, `y`); its Cr is the next byte.
  @unsafe @inline(__always) func chroma(x: Int, y: Int) -> UnsafeMutablePointer<UInt8> {
    unsafe chroma + (y &* stride &+ 2 &* x)
  }
}
