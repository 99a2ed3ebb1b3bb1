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
    // A surface that was never reconstructed, wherever it is listed.
    var another = VASurfaceID()
    try check(
      vaCreateSurfaces(
        client.display.display, UInt32(VA_RT_FORMAT_YUV420), 64, 48, &another, 1, nil, 0))
    #expect(refusal(of: client) { $0.refer(to: another) } == invalid)
    #expect(
      refusal(of: client) {
        $0.picture.ReferenceFrames.5.picture_id = another
        $0.picture.ReferenceFrames.5.flags = 0
      } == invalid)
    #expect(
      refusal(of: client) {
        $0.slice.RefPicList1.31.picture_id = 0
        $0.slice.RefPicList1.31.flags = 0
      } == invalid)
    #expect(refusal(of: client) { $0.picture.num_ref_idx_l0_active_minus1 = 1 } == invalid)
    // A gap, which makes decoders invent pictures.
    #expect(refusal(of: client) { $0.picture.frame_num += 1 } == invalid)
    #expect(refusal(of: client) { $0.picture.frame_num -= 1 } == invalid)
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
      { $0.picture.pic_fields.bits.reference_pic_flag = 0 },
      { $0.picture.pic_fields.bits.pic_scaling_matrix_present_flag = 1 },
      { $0.picture.chroma_qp_index_offset = 13 },
      { $0.sequence?.seq_fields.bits.chroma_format_idc = 2 },
      { $0.sequence?.seq_fields.bits.pic_order_cnt_type = 1 },
      { $0.sequence?.bit_depth_luma_minus8 = 2 },
      { $0.sequence?.intra_period = 0 },
      { $0.sequence?.max_num_ref_frames = 0 },
      { $0.sequence?.frame_crop_bottom_offset = 24 },
      { $0.slice.macroblock_address = 1 },
      { $0.slice.macroblock_info = 0 },
      { $0.slice.slice_type = 1 },
      { $0.slice.slice_type = 7 },
      {
        $0.picture.pic_fields.bits.deblocking_filter_control_present_flag = 0
        $0.slice.disable_deblocking_filter_idc = 1
      },
      {
        $0.sequence?.seq_fields.bits.pic_order_cnt_type = 0
        $0.slice.pic_order_cnt_lsb = 2
      },
    ]
    for (index, spoil) in spoilers.enumerated() {
      #expect(
        refusal(of: client, spoil) == VA_STATUS_ERROR_INVALID_PARAMETER, "mistake \(index)")
    }
    #expect(refusal(of: client) == VA_STATUS_SUCCESS)
  }

  @Test("rate control that says nothing, or too much, is refused")
  func rateControl() throws {
    func status(
      _ mode: Int32, _ change: (inout VAEncMiscParameterRateControl) -> Void
    ) throws -> VAStatus {
      let client = try DriverClient(width: 64, height: 48, rateControl: mode)
      var rate = VAEncMiscParameterRateControl()
      rate.bits_per_second = 500_000
      rate.target_percentage = 80
      change(&rate)
      do {
        try client.encode(
          picture, misc: [miscParameters(VAEncMiscParameterTypeRateControl, rate)])
        return VA_STATUS_SUCCESS
      } catch {
        return try #require((error as? VAFailure)?.status)
      }
    }
    let invalid = VA_STATUS_ERROR_INVALID_PARAMETER
    for mode in [VA_RC_CBR, VA_RC_VBR] {
      #expect(try status(mode) { _ in } == VA_STATUS_SUCCESS)
      #expect(try status(mode) { $0.bits_per_second = 0 } == invalid)
      #expect(try status(mode) { $0.min_qp = 52 } == invalid)
      #expect(try status(mode) { $0.initial_qp = 52 } == invalid)
      #expect(
        try status(mode) {
          $0.min_qp = 30
          $0.max_qp = 29
        } == invalid)
    }
    #expect(try status(VA_RC_VBR) { $0.target_percentage = 0 } == invalid)
    #expect(try status(VA_RC_VBR) { $0.target_percentage = 101 } == invalid)
    // Under CBR nobody looks at it.
    #expect(try status(VA_RC_CBR) { $0.target_percentage = 0 } == VA_STATUS_SUCCESS)
  }

  @Test("an HRD without a buffer and a frame rate of 0 are refused, and so are short buffers")
  func misc() throws {
    let client = try DriverClient(width: 64, height: 48, rateControl: VA_RC_CBR)
    func status(_ misc: [UInt8]) throws -> VAStatus {
      do {
        try client.encode(picture, isIDR: true, misc: [misc])
        return VA_STATUS_SUCCESS
      } catch {
        return try #require((error as? VAFailure)?.status)
      }
    }
    let hrd = miscParameters(VAEncMiscParameterTypeHRD, VAEncMiscParameterHRD())
    let rate = miscParameters(VAEncMiscParameterTypeFrameRate, VAEncMiscParameterFrameRate())
    #expect(try status(hrd) == VA_STATUS_ERROR_INVALID_PARAMETER)
    #expect(try status(rate) == VA_STATUS_ERROR_INVALID_PARAMETER)
    #expect(try status(Array(hrd.prefix(6))) == VA_STATUS_ERROR_INVALID_BUFFER)
    #expect(try status([1]) == VA_STATUS_ERROR_INVALID_BUFFER)
  }

  @Test("a config asks for what is offered, one mode of rate control, and no more")
  func configs() throws {
    let display = try DriverDisplay()
    func status(
      _ type: VAConfigAttribType, _ value: Int32,
      _ profile: VAProfile = VAProfileH264ConstrainedBaseline,
      _ entrypoint: VAEntrypoint = VAEntrypointEncSlice
    ) -> VAStatus {
      var attribute = VAConfigAttrib(type: type, value: UInt32(value))
      var id = VAConfigID()
      return vaCreateConfig(display.display, profile, entrypoint, &attribute, 1, &id)
    }
    let invalid = VA_STATUS_ERROR_INVALID_VALUE
    #expect(status(VAConfigAttribRateControl, VA_RC_CBR | VA_RC_VBR) == invalid)
    #expect(status(VAConfigAttribRateControl, VA_RC_NONE) == invalid)
    #expect(status(VAConfigAttribRateControl, VA_RC_QVBR) == invalid)
    #expect(status(VAConfigAttribEncPackedHeaders, 0x3f) == invalid)
    #expect(status(VAConfigAttribEncMaxRefFrames, 2) == invalid)
    #expect(
      status(VAConfigAttribRTFormat, VA_RT_FORMAT_YUV444)
        == VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT)
    #expect(status(VAConfigAttribEncQualityRange, 1) == VA_STATUS_ERROR_ATTR_NOT_SUPPORTED)
    let format = VAConfigAttribRTFormat
    let yuv420 = VA_RT_FORMAT_YUV420
    #expect(
      status(format, yuv420, VAProfileHEVCMain) == VA_STATUS_ERROR_UNSUPPORTED_PROFILE)
    #expect(
      status(format, yuv420, VAProfileH264ConstrainedBaseline, VAEntrypointVLD)
        == VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT)
    #expect(status(format, yuv420) == VA_STATUS_SUCCESS)
  }

  @Test("calls out of order are refused")
  func order() throws {
    let client = try DriverClient(width: 64, height: 48)
    let va = client.display.display
    let failed = VA_STATUS_ERROR_OPERATION_FAILED
    #expect(vaEndPicture(va, client.context) == failed)
    #expect(vaRenderPicture(va, client.context, nil, 0) == failed)
    try check(vaBeginPicture(va, client.context, client.input))
    #expect(vaBeginPicture(va, client.context, client.input) == failed)
    // Nothing was rendered.
    #expect(vaEndPicture(va, client.context) == VA_STATUS_ERROR_INVALID_PARAMETER)
    try client.encode(picture)
  }

  @Test("surfaces and buffers that were given back are unknown, and those in use stay")
  func lifetimes() throws {
    let client = try DriverClient(width: 64, height: 48)
    let va = client.display.display
    try client.encode(picture)
    // In use between begin and end, and while an image of it is held.
    var input = client.input
    let busy = VA_STATUS_ERROR_SURFACE_BUSY
    try check(vaBeginPicture(va, client.context, input))
    #expect(vaDestroySurfaces(va, &input, 1) == busy)
    _ = vaEndPicture(va, client.context)
    var image = VAImage()
    try check(vaDeriveImage(va, input, &image))
    #expect(vaDestroySurfaces(va, &input, 1) == busy)
    try check(vaDestroyImage(va, image.image_id))
    var data: UnsafeMutableRawPointer?
    #expect(vaMapBuffer(va, image.buf, &data) == VA_STATUS_ERROR_INVALID_BUFFER)
    // A coded buffer that is mapped, or gone.
    var coded = VABufferID()
    try check(vaCreateBuffer(va, client.context, VAEncCodedBufferType, 9999, 1, nil, &coded))
    try check(vaMapBuffer(va, coded, &data))
    #expect(
      refusal(of: client) { $0.picture.coded_buf = coded } == VA_STATUS_ERROR_INVALID_BUFFER)
    #expect(vaMapBuffer(va, coded, &data) == VA_STATUS_ERROR_INVALID_BUFFER)
    try check(vaUnmapBuffer(va, coded))
    #expect(vaUnmapBuffer(va, coded) == VA_STATUS_ERROR_INVALID_BUFFER)
    try check(vaDestroyBuffer(va, coded))
    #expect(
      refusal(of: client) { $0.picture.coded_buf = coded } == VA_STATUS_ERROR_INVALID_BUFFER)
    // The reference is gone; a new surface has another id, and no picture in it.
    var reference = client.reference
    try check(vaDestroySurfaces(va, &reference, 1))
    var new = VASurfaceID()
    try check(vaCreateSurfaces(va, UInt32(VA_RT_FORMAT_YUV420), 64, 48, &new, 1, nil, 0))
    #expect(new != reference)
    #expect(refusal(of: client) == VA_STATUS_ERROR_INVALID_PARAMETER)
    #expect(vaBeginPicture(va, client.context, reference) == VA_STATUS_ERROR_INVALID_SURFACE)
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
