import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Mistakes that real drivers refuse, or turn into garbage, are refused here.
struct RefusalTests {
  private let picture = Picture.text(width: 64, height: 48, seed: 1)

  private func refusal(
    of client: DriverClient, isIDR: Bool = false, headers: [PackedHeader] = [],
    _ spoil: @escaping (inout PictureParameters) -> Void = { _ in }
  ) -> VAStatus {
    client.adjust = spoil
    defer { client.adjust = { _ in } }
    do {
      try client.encode(picture, isIDR: isIDR, headers: headers)
      return VA_STATUS_SUCCESS
    } catch {
      return (error as? VAFailure)?.status ?? VA_STATUS_ERROR_OPERATION_FAILED
    }
  }

  @Test("a P picture without a usable reference is refused")
  func reference() throws {
    let client = try DriverClient(width: 64, height: 48)
    try client.encode(picture)
    let invalid = VA_STATUS_ERROR_INVALID_PARAMETER
    #expect(refusal(of: client) { $0.slice.RefPicList0.0.picture_id = VA_INVALID_ID } == invalid)
    #expect(refusal(of: client) { $0.refer(to: client.target) } == invalid)
    #expect(refusal(of: client) { $0.refer(to: client.input) } == invalid)
    #expect(
      refusal(of: client) { $0.picture.ReferenceFrames.0.picture_id = VA_INVALID_ID } == invalid)
    #expect(refusal(of: client) { _ in } == VA_STATUS_SUCCESS)
  }

  @Test("a reference that the client wrote over is refused")
  func overwrittenReference() throws {
    let client = try DriverClient(width: 64, height: 48)
    let coded = try client.encode(picture)
    var image = VAImage()
    try check(vaDeriveImage(client.display.display, coded.reference, &image))
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(client.display.display, image.buf, &data))
    try check(vaUnmapBuffer(client.display.display, image.buf))
    try check(vaDestroyImage(client.display.display, image.image_id))
    #expect(refusal(of: client) == VA_STATUS_ERROR_INVALID_PARAMETER)
    #expect(refusal(of: client, isIDR: true) == VA_STATUS_SUCCESS)
  }

  @Test("the source cannot be its own reconstruction")
  func sourceAsTarget() throws {
    let client = try DriverClient(width: 64, height: 48)
    let status = refusal(of: client) { $0.picture.CurrPic.picture_id = client.input }
    #expect(status == VA_STATUS_ERROR_INVALID_SURFACE)
  }

  @Test("parameters that the encoder cannot follow are refused")
  func parameters() throws {
    let client = try DriverClient(width: 64, height: 48)
    let spoilers: [(inout PictureParameters) -> Void] = [
      { $0.picture.pic_fields.bits.entropy_coding_mode_flag = 1 },
      { $0.picture.pic_fields.bits.transform_8x8_mode_flag = 1 },
      { $0.picture.pic_fields.bits.weighted_pred_flag = 1 },
      { $0.sequence?.picture_width_in_mbs = 5 },
      { $0.sequence?.seq_fields.bits.frame_mbs_only_flag = 0 },
      { $0.sequence = nil },
      { $0.slice.slice_type = 0 },
      { $0.slice.num_macroblocks = 11 },
      { $0.slice.slice_qp_delta = 26 },
      { $0.slice.disable_deblocking_filter_idc = 3 },
      { $0.slice.slice_alpha_c0_offset_div2 = 7 },
      { $0.picture.frame_num = 1 },
    ]
    for (index, spoil) in spoilers.enumerated() {
      #expect(
        refusal(of: client, spoil) == VA_STATUS_ERROR_INVALID_PARAMETER, "mistake \(index)")
    }
    #expect(refusal(of: client) == VA_STATUS_SUCCESS)
  }

  @Test("a coded buffer that is too small is refused, and the next keyframe works")
  func smallCodedBuffer() throws {
    let client = try DriverClient(width: 64, height: 48, codedBytes: 600)
    client.adjust = { _ in }
    let noise = Picture.noise(width: 64, height: 48, seed: 1)
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_NOT_ENOUGH_BUFFER)) {
      try client.encode(noise)
    }
    try client.encode(Picture(width: 64, height: 48))
  }

  @Test("under CBR a picture that does not fit is coded again, coarser")
  func codedAgain() throws {
    let client = try DriverClient(
      width: 64, height: 48, rateControl: VA_RC_CBR, codedBytes: 1500)
    var rate = VAEncMiscParameterRateControl()
    rate.bits_per_second = 20_000_000
    let misc = [miscParameters(VAEncMiscParameterTypeRateControl, rate)]
    let noise = Picture.noise(width: 64, height: 48, seed: 1)
    let coded = try client.encode(noise, misc: misc)
    let decoded = try DecodedStream(coded.bytes, width: 64, height: 48)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures == [coded.reconstruction])
  }

  @Test("lossless mode refuses a QP at which deblocking would alter pixels")
  func losslessQP() throws {
    let client = try DriverClient(mode: .lossless, width: 64, height: 48)
    let status = refusal(of: client) { $0.picture.pic_init_qp = 31 }
    #expect(status == VA_STATUS_ERROR_INVALID_PARAMETER)
  }

  @Test("ids that were given back, or never given, are unknown")
  func ids() throws {
    let client = try DriverClient(width: 64, height: 48)
    let va = client.display.display
    var buffer = VABufferID()
    try check(
      vaCreateBuffer(va, client.context, VAEncMiscParameterBufferType, 16, 1, nil, &buffer))
    try check(vaDestroyBuffer(va, buffer))
    var another = VABufferID()
    try check(
      vaCreateBuffer(va, client.context, VAEncMiscParameterBufferType, 16, 1, nil, &another))
    #expect(vaDestroyBuffer(va, buffer) == VA_STATUS_ERROR_INVALID_BUFFER)
    #expect(vaSyncBuffer(va, VA_INVALID_ID, 0) == VA_STATUS_ERROR_INVALID_BUFFER)
    #expect(vaSyncSurface(va, 7) == VA_STATUS_ERROR_INVALID_SURFACE)
    #expect(vaDestroyContext(va, client.config) == VA_STATUS_ERROR_INVALID_CONTEXT)
    #expect(vaDestroyConfig(va, client.context) == VA_STATUS_ERROR_INVALID_CONFIG)
    #expect(vaDestroyImage(va, 1) == VA_STATUS_ERROR_INVALID_IMAGE)
    try check(vaDestroyBuffer(va, another))
  }
}
