import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Decoded pictures equal the driver's reconstruction bit for bit: every table and every rounding of
/// intra and inter prediction, transform, CAVLC and deblocking is held by these.
struct DecodingTests {
  /// Codes the pictures and holds the decoder's against the driver's.
  private func expectExact(
    _ pictures: [Picture], on client: DriverClient, qp: Int, keyframes: Set<Int> = []
  ) throws -> [CodedPicture] {
    let coded = try pictures.enumerated().map { index, picture in
      try client.encode(picture, qp: qp, isIDR: keyframes.contains(index))
    }
    let decoded = try DecodedStream(
      coded.flatMap(\.bytes), width: client.width, height: client.height)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures.count == coded.count)
    for (index, pair) in zip(decoded.pictures, coded).enumerated() {
      #expect(pair.0 == pair.1.reconstruction, "picture \(index)")
    }
    return coded
  }

  /// Noise, then the same noise moved, then text over it: intra, inter, skipped and I_PCM together.
  private func mixture(width: Int, height: Int) -> [Picture] {
    let noise = Picture.noise(width: width, height: height, seed: 1)
    let text = Picture.text(width: width, height: height, seed: 2)
    var moved = text
    moved.draw(Picture.noise(width: width / 2, height: height / 2, seed: 3), x: 10, y: 6)
    var again = text
    again.draw(Picture.noise(width: width / 2, height: height / 2, seed: 3), x: 13, y: 11)
    var flat = again
    flat.fill(x: 32, y: 16, width: 64, height: 48, luma: 90, chroma: 60)
    return [noise, text, moved, again, flat, flat, Picture(width: width, height: height), noise]
  }

  @Test("any QP decodes to the reconstruction", arguments: [0, 10, 17, 26, 35, 44, 51])
  func anyQP(qp: Int) throws {
    let client = try DriverClient(width: 112, height: 80)
    _ = try expectExact(mixture(width: 112, height: 80), on: client, qp: qp)
  }

  @Test(
    "sizes that are no whole macroblocks decode, cropped",
    arguments: [(16, 16), (18, 2), (50, 34), (98, 114)])
  func oddSizes(width: Int, height: Int) throws {
    let client = try DriverClient(width: width, height: height)
    _ = try expectExact(mixture(width: width, height: height), on: client, qp: 24)
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
    _ = try expectExact(mixture(width: 96, height: 64), on: client, qp: 32)
  }

  @Test("chroma has its own QP", arguments: [-12, 7, 12])
  func chromaOffset(offset: Int) throws {
    let client = try DriverClient(width: 96, height: 64)
    client.adjust = { $0.picture.chroma_qp_index_offset = Int8(offset) }
    _ = try expectExact(mixture(width: 96, height: 64), on: client, qp: 28)
  }

  @Test("constrained intra prediction is obeyed")
  func constrainedIntra() throws {
    let client = try DriverClient(width: 96, height: 64)
    client.adjust = { $0.picture.pic_fields.bits.constrained_intra_pred_flag = 1 }
    _ = try expectExact(mixture(width: 96, height: 64), on: client, qp: 28)
  }

  @Test("a keyframe can come at any picture")
  func keyframes() throws {
    let client = try DriverClient(width: 96, height: 64)
    _ = try expectExact(mixture(width: 96, height: 64), on: client, qp: 28, keyframes: [2, 3, 6])
  }

  @Test("lossless mode gives every source back", arguments: [false, true])
  func lossless(deblocks: Bool) throws {
    let client = try DriverClient(mode: .lossless, width: 98, height: 66)
    client.adjust = { $0.slice.disable_deblocking_filter_idc = deblocks ? 0 : 1 }
    let pictures = mixture(width: 98, height: 66)
    let coded = try expectExact(pictures, on: client, qp: deblocks ? 30 : 51)
    for (picture, coded) in zip(pictures, coded) { #expect(coded.reconstruction == picture.nv12) }
  }
}
