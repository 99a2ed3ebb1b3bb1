import CVA

/// What stays from IDR picture to IDR picture, in the words of VAEncSequenceParameterBufferH264.
package struct H264Sequence: Sendable {
  /// Level times ten.
  package var levelIDC: UInt8
  package var widthInMacroblocks: Int
  package var heightInMacroblocks: Int
  /// log2_max_frame_num, 4 to 16.
  package var log2MaxFrameNum: Int
  /// Luma samples cut off at the right and at the bottom; even numbers.
  package var cropRight: Int
  package var cropBottom: Int
  /// Pictures from one IDR picture to the next, as a hint: 1 to 65,535, for a driver divides by it.
  package var idrPeriod: Int
  package var framesPerSecond: Int
  /// The peak.
  package var bitsPerSecond: Int

  package init(
    levelIDC: UInt8, widthInMacroblocks: Int, heightInMacroblocks: Int, log2MaxFrameNum: Int,
    cropRight: Int, cropBottom: Int, idrPeriod: Int, framesPerSecond: Int, bitsPerSecond: Int
  ) {
    self.levelIDC = levelIDC
    self.widthInMacroblocks = widthInMacroblocks
    self.heightInMacroblocks = heightInMacroblocks
    self.log2MaxFrameNum = log2MaxFrameNum
    self.cropRight = cropRight
    self.cropBottom = cropBottom
    self.idrPeriod = idrPeriod
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
  }
}

/// A picture of one slice, with at most one reference: the picture before it.
package struct H264Picture: Sendable {
  package var isIDR: Bool
  /// frame_num, modulo its maximum.
  package var frameNum: UInt16
  /// Pictures since the last IDR picture; the picture order count is twice that.
  package var orderIndex: Int32
  /// Changes from one IDR picture to the next.
  package var idrPictureID: UInt16
  /// pic_init_qp_minus26 + 26 and slice_qp_delta, the same as in the packed headers.
  package var initialQP: UInt8
  package var qpDelta: Int8
  package var macroblockCount: Int
  /// entropy_coding_mode_flag, as in the packed picture parameter set.
  package var usesCABAC: Bool
  /// slice_alpha_c0_offset_div2 and slice_beta_offset_div2, -6 to 6, as in the packed slice header.
  package var deblockingOffset: Int8

  package init(
    isIDR: Bool, frameNum: UInt16, orderIndex: Int32, idrPictureID: UInt16, initialQP: UInt8,
    qpDelta: Int8, macroblockCount: Int, usesCABAC: Bool, deblockingOffset: Int8
  ) {
    self.isIDR = isIDR
    self.frameNum = frameNum
    self.orderIndex = orderIndex
    self.idrPictureID = idrPictureID
    self.initialQP = initialQP
    self.qpDelta = qpDelta
    self.macroblockCount = macroblockCount
    self.usesCABAC = usesCABAC
    self.deblockingOffset = deblockingOffset
  }
}

extension ParameterBuffers {
  /// Adds the sequence parameters. Only before an IDR picture.
  package mutating func add(_ sequence: H264Sequence) throws(VAError) {
    var buffer = VAEncSequenceParameterBufferH264()
    buffer.level_idc = sequence.levelIDC
    buffer.intra_period = UInt32(sequence.idrPeriod)
    buffer.intra_idr_period = UInt32(sequence.idrPeriod)
    buffer.ip_period = 1
    buffer.bits_per_second = UInt32(sequence.bitsPerSecond)
    buffer.max_num_ref_frames = 1
    buffer.picture_width_in_mbs = UInt16(sequence.widthInMacroblocks)
    buffer.picture_height_in_mbs = UInt16(sequence.heightInMacroblocks)
    unsafe buffer.seq_fields.bits.chroma_format_idc = 1
    unsafe buffer.seq_fields.bits.frame_mbs_only_flag = 1
    unsafe buffer.seq_fields.bits.direct_8x8_inference_flag = 1
    unsafe buffer.seq_fields.bits.log2_max_frame_num_minus4 = UInt32(sequence.log2MaxFrameNum - 4)
    unsafe buffer.seq_fields.bits.pic_order_cnt_type = 2
    if sequence.cropRight > 0 || sequence.cropBottom > 0 {
      buffer.frame_cropping_flag = 1
      buffer.frame_crop_right_offset = UInt32(sequence.cropRight / 2)
      buffer.frame_crop_bottom_offset = UInt32(sequence.cropBottom / 2)
    }
    // Without it Mesa 22 writes an SPS that lets decoders hold pictures back.
    buffer.vui_parameters_present_flag = 1
    unsafe buffer.vui_fields.bits.aspect_ratio_info_present_flag = 1
    unsafe buffer.vui_fields.bits.timing_info_present_flag = 1
    unsafe buffer.vui_fields.bits.bitstream_restriction_flag = 1
    unsafe buffer.vui_fields.bits.log2_max_mv_length_horizontal = 15
    unsafe buffer.vui_fields.bits.log2_max_mv_length_vertical = 15
    unsafe buffer.vui_fields.bits.motion_vectors_over_pic_boundaries_flag = 1
    buffer.aspect_ratio_idc = 1
    buffer.num_units_in_tick = 1
    buffer.time_scale = UInt32(sequence.framesPerSecond * 2)
    try add(buffer, type: VAEncSequenceParameterBufferType)
  }

  /// Adds the picture parameters. `reconstruction` becomes the decoded picture; `reference` is the
  /// one that the picture before was decoded into, and only an IDR picture goes without.
  package mutating func add(
    _ picture: H264Picture, reconstruction: borrowing Surface, reference: borrowing Surface,
    coded: borrowing CodedBuffer
  ) throws(VAError) {
    var buffer = VAEncPictureParameterBufferH264()
    buffer.CurrPic = VAPictureH264(
      surface: reconstruction.id, frameNum: picture.frameNum, orderIndex: picture.orderIndex,
      flags: 0)
    fill(&buffer.ReferenceFrames, with: picture.reference(in: reference))
    buffer.coded_buf = coded.id
    buffer.frame_num = picture.frameNum
    buffer.pic_init_qp = picture.initialQP
    unsafe buffer.pic_fields.bits.idr_pic_flag = picture.isIDR ? 1 : 0
    unsafe buffer.pic_fields.bits.reference_pic_flag = 1
    unsafe buffer.pic_fields.bits.entropy_coding_mode_flag = picture.usesCABAC ? 1 : 0
    // The 8x8 transform stays off: AMD's encoders before VCN 5 write none, whatever they are told.
    unsafe buffer.pic_fields.bits.deblocking_filter_control_present_flag = 1
    try add(buffer, type: VAEncPictureParameterBufferType)
  }

  /// Adds the picture's one slice, after its packed header.
  package mutating func addSlice(
    of picture: H264Picture, reference: borrowing Surface
  ) throws(VAError) {
    var buffer = VAEncSliceParameterBufferH264()
    buffer.num_macroblocks = UInt32(picture.macroblockCount)
    buffer.macroblock_info = VA_INVALID_ID
    buffer.slice_type = picture.isIDR ? 2 : 0
    buffer.idr_pic_id = picture.idrPictureID
    buffer.direct_spatial_mv_pred_flag = 1
    fill(&buffer.RefPicList0, with: picture.reference(in: reference))
    fill(&buffer.RefPicList1, with: .unused)
    buffer.slice_qp_delta = picture.qpDelta
    buffer.slice_alpha_c0_offset_div2 = picture.deblockingOffset
    buffer.slice_beta_offset_div2 = picture.deblockingOffset
    try add(buffer, type: VAEncSliceParameterBufferType)
  }

  /// Drivers look at every entry of a list, so the ones behind the first are marked unused.
  private func fill<List>(_ list: inout List, with first: VAPictureH264) {
    unsafe withUnsafeMutableBytes(of: &list) { bytes in
      let entries = unsafe bytes.bindMemory(to: VAPictureH264.self)
      unsafe entries.update(repeating: .unused)
      unsafe entries[0] = first
    }
  }
}

extension H264Picture {
  fileprivate func reference(in surface: borrowing Surface) -> VAPictureH264 {
    guard !isIDR else { return .unused }
    // frame_idx is the reference's own frame_num: one less, in a sequence without gaps.
    return VAPictureH264(
      surface: surface.id, frameNum: frameNum &- 1, orderIndex: orderIndex - 1,
      flags: UInt32(VA_PICTURE_H264_SHORT_TERM_REFERENCE))
  }
}

extension VAPictureH264 {
  fileprivate static var unused: VAPictureH264 {
    var picture = VAPictureH264()
    picture.picture_id = VA_INVALID_ID
    picture.flags = UInt32(VA_PICTURE_H264_INVALID)
    return picture
  }

  fileprivate init(surface: VASurfaceID, frameNum: UInt16, orderIndex: Int32, flags: UInt32) {
    self.init()
    picture_id = surface
    frame_idx = UInt32(frameNum)
    self.flags = flags
    TopFieldOrderCnt = orderIndex * 2
    BottomFieldOrderCnt = orderIndex * 2
  }
}
