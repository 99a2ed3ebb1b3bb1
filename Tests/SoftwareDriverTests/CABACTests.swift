import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Decoded pictures equal the driver's reconstruction bit for bit with CABAC too.
struct CABACTests {
  private func client(
    mode: EncodeMode = .lossy, width: Int, height: Int, initIDC: Int = 0, has8x8: Bool = false
  ) throws -> DriverClient {
    let client = try DriverClient(
      mode: mode, width: width, height: height,
      profile: has8x8 ? VAProfileH264High : VAProfileH264Main)
    client.adjust = {
      $0.picture.pic_fields.bits.entropy_coding_mode_flag = 1
      $0.picture.pic_fields.bits.transform_8x8_mode_flag = has8x8 ? 1 : 0
      $0.slice.cabac_init_idc = UInt8(initIDC)
    }
    return client
  }

  @Test("any QP decodes to the reconstruction", arguments: [0, 8, 17, 26, 35, 44, 51])
  func anyQP(qp: Int) throws {
    let client = try client(width: 112, height: 80, initIDC: qp % 3)
    try client.expectExact(Picture.mixture(width: 112, height: 80), qp: qp)
  }

  @Test(
    "every cabac_init_idc decodes, with and without the 8x8 flag", arguments: 0...2, [false, true])
  func initialisation(initIDC: Int, has8x8: Bool) throws {
    let client = try client(width: 96, height: 64, initIDC: initIDC, has8x8: has8x8)
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 22, keyframes: [3])
  }

  @Test(
    "sizes that are no whole macroblocks decode",
    arguments: [(16, 16), (18, 2), (50, 34), (98, 114)])
  func oddSizes(width: Int, height: Int) throws {
    let client = try client(width: width, height: height)
    try client.expectExact(Picture.mixture(width: width, height: height), qp: 24)
  }

  @Test("I_PCM begins the encoder anew")
  func lossless() throws {
    let client = try client(mode: .lossless, width: 98, height: 66)
    let pictures = Picture.mixture(width: 98, height: 66)
    let coded = try client.expectExact(pictures, qp: 30)
    for (picture, coded) in zip(pictures, coded) { #expect(coded.reconstruction == picture.nv12) }
  }

  @Test("High without CABAC says the size of each transform")
  func transformSize() throws {
    let client = try DriverClient(width: 96, height: 64, profile: VAProfileH264High)
    client.adjust = { $0.picture.pic_fields.bits.transform_8x8_mode_flag = 1 }
    try client.expectExact(Picture.mixture(width: 96, height: 64), qp: 22)
  }

  @Test("text takes fewer bits than with CAVLC")
  func fewerBits() throws {
    let pictures = (0..<3).map { Picture.text(width: 320, height: 240, seed: UInt64($0)) }
    func bytes(_ client: DriverClient) throws -> Int {
      try pictures.reduce(0) { try $0 + client.encode($1, qp: 26).bytes.count }
    }
    let cabac = try bytes(client(width: 320, height: 240))
    let cavlc = try bytes(DriverClient(width: 320, height: 240))
    #expect(Double(cabac) < 0.95 * Double(cavlc))
  }

  @Test("what a profile has not is refused")
  func refusals() throws {
    let invalid = VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)
    let picture = Picture(width: 32, height: 32)
    let main = try client(width: 32, height: 32)
    let usual = main.adjust
    let spoilers: [(inout PictureParameters) -> Void] = [
      { $0.slice.cabac_init_idc = 3 }, { $0.picture.pic_fields.bits.transform_8x8_mode_flag = 1 },
    ]
    for spoil in spoilers {
      main.adjust = {
        usual(&$0)
        spoil(&$0)
      }
      #expect(throws: invalid) { try main.encode(picture) }
    }
    let high = try client(width: 32, height: 32, has8x8: true)
    let wanted = high.adjust
    high.adjust = {
      wanted(&$0)
      $0.picture.second_chroma_qp_index_offset = 2
    }
    #expect(throws: invalid) { try high.encode(picture) }
  }
}
