import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Decoded pictures equal the driver's reconstruction bit for bit: every table and every rounding of
/// intra and inter prediction, transform, CAVLC and deblocking is held by these.
struct DecodingTests {
  @Test("any QP decodes to the reconstruction", arguments: [0, 10, 17, 26, 35, 44, 51])
  func anyQP(qp: Int) throws {
    let client = try DriverClient(width: 112, height: 80)
    try client.expectExact(Picture.mixture(width: 112, height: 80), qp: qp)
  }

  @Test(
    "sizes that are no whole macroblocks decode, cropped",
    arguments: [(16, 16), (18, 2), (50, 34), (98, 114)])
  func oddSizes(width: Int, height: Int) throws {
    let client = try DriverClient(width: width, height: height)
    try client.expectExact(Picture.mixture(width: width, height: height), qp: 24)
  }

  @Test(
    "deblocking obeys its offsets, and its switch", arguments: [(0, 6), (0, -6), (1, 0), (2, 3)])
  func deblocking(idc: Int, offset: Int) throws {
    let client = try DriverClient(width: 96, height: 64)
    client.adjust = {
      $0.slice.disable_deblocking_filter_idc = UInt8(idc)
      $0.slice.slice_alpha_c0_offset_div2 = Int8(offset)
      $0.slice.slice_beta_offset_div2 = Int8(-offset)
    }
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 32)
  }

  @Test("chroma has its own QP", arguments: [-12, 7, 12])
  func chromaOffset(offset: Int) throws {
    let client = try DriverClient(width: 96, height: 64)
    client.adjust = { $0.picture.chroma_qp_index_offset = Int8(offset) }
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 28)
  }

  @Test("constrained intra prediction is obeyed")
  func constrainedIntra() throws {
    let client = try DriverClient(width: 96, height: 64)
    client.adjust = { $0.picture.pic_fields.bits.constrained_intra_pred_flag = 1 }
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 28)
  }

  @Test("a keyframe can come at any picture")
  func keyframes() throws {
    let client = try DriverClient(width: 96, height: 64)
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 28, keyframes: [2, 3, 6])
  }

  @Test("lossless mode gives every source back", arguments: [false, true])
  func lossless(deblocks: Bool) throws {
    let client = try DriverClient(mode: .lossless, width: 98, height: 66)
    client.adjust = { $0.slice.disable_deblocking_filter_idc = deblocks ? 0 : 1 }
    let pictures = Picture.mixture(width: 98, height: 66)
    let coded = try client.expectExact(pictures, qp: deblocks ? 30 : 51)
    for (picture, coded) in zip(pictures, coded) { #expect(coded.reconstruction == picture.nv12) }
  }
}
