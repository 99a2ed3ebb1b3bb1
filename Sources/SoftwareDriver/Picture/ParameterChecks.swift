internal import CVA

/// What is refused of a client's structures before anything is coded: what drivers refuse, what they do
/// not look at and turn into a stream that nothing decodes, and what this encoder does not have.
extension CheckedPicture {
  static func check(
    _ sequence: VAEncSequenceParameterBufferH264, columns: Int, rows: Int
  ) throws(DriverError) {
    let fields = unsafe sequence.seq_fields.bits
    guard fields.frame_mbs_only_flag == 1, fields.chroma_format_idc == 1,
      fields.seq_scaling_matrix_present_flag == 0, sequence.bit_depth_luma_minus8 == 0,
      sequence.bit_depth_chroma_minus8 == 0
    else {
      throw .invalidParameter.because("fields, another chroma format, depth or scaling matrix")
    }
    guard fields.pic_order_cnt_type != 1 else {
      throw .invalidParameter.because("pic_order_cnt_type 1")
    }
    guard Int(sequence.picture_width_in_mbs) == columns,
      Int(sequence.picture_height_in_mbs) == rows
    else { throw .invalidParameter.because("a sequence of another size than the context's") }
    guard sequence.intra_period > 0, sequence.max_num_ref_frames > 0 else {
      // Mesa 22.3.6 divides by the period.
      throw .invalidParameter.because("an intra_period or max_num_ref_frames of 0")
    }
    let cropped = (
      sequence.frame_crop_left_offset + sequence.frame_crop_right_offset,
      sequence.frame_crop_top_offset + sequence.frame_crop_bottom_offset
    )
    guard sequence.frame_cropping_flag == 0 || (cropped.0 < columns * 8 && cropped.1 < rows * 8)
    else { throw .invalidParameter.because("cropping that leaves nothing") }
  }

  static func check(
    _ picture: VAEncPictureParameterBufferH264, profile: EncodeProfile, hasNewSequence: Bool
  ) throws(DriverError) {
    let fields = unsafe picture.pic_fields.bits
    guard fields.entropy_coding_mode_flag == 0 || profile.hasCABAC else {
      throw .invalidParameter.because("CABAC in a profile that has none")
    }
    guard fields.transform_8x8_mode_flag == 0 || profile.has8x8Transform else {
      throw .invalidParameter.because("8x8 transforms in a profile that has none")
    }
    guard
      fields.transform_8x8_mode_flag == 0
        || picture.second_chroma_qp_index_offset == picture.chroma_qp_index_offset
    else { throw .invalidParameter.because("a QP of Cr that is not Cb's") }
    guard fields.weighted_pred_flag == 0, fields.pic_scaling_matrix_present_flag == 0 else {
      throw .invalidParameter.because("weighted prediction or a scaling matrix")
    }
    guard (-12...12).contains(picture.chroma_qp_index_offset) else {
      throw .invalidParameter.because("a chroma_qp_index_offset beyond 12")
    }
    guard fields.idr_pic_flag == 0 || (hasNewSequence && picture.frame_num == 0) else {
      throw .invalidParameter.because("an IDR picture without sequence, or with a frame_num")
    }
    guard fields.idr_pic_flag == 0 || fields.reference_pic_flag == 1 else {
      throw .invalidParameter.because("an IDR picture that is no reference")
    }
  }

  /// The picture's numbers fit the bits that the sequence has for them, and agree.
  static func checkOrder(
    _ sequence: VAEncSequenceParameterBufferH264, _ picture: VAEncPictureParameterBufferH264,
    _ slice: VAEncSliceParameterBufferH264
  ) throws(DriverError) {
    let fields = unsafe sequence.seq_fields.bits
    guard Int(picture.frame_num) < 1 << (Int(fields.log2_max_frame_num_minus4) + 4) else {
      throw .invalidParameter.because("a frame_num beyond its bits")
    }
    guard fields.pic_order_cnt_type == 0 else { return }
    let mask = UInt32(1) << (fields.log2_max_pic_order_cnt_lsb_minus4 + 4) - 1
    let order = UInt32(bitPattern: picture.CurrPic.TopFieldOrderCnt)
    guard UInt32(slice.pic_order_cnt_lsb) == order & mask else {
      throw .invalidParameter.because("pic_order_cnt_lsb and TopFieldOrderCnt that differ")
    }
  }

  static func check(
    _ slice: VAEncSliceParameterBufferH264, picture: VAEncPictureParameterBufferH264,
    macroblockCount: Int
  ) throws(DriverError) {
    let fields = unsafe picture.pic_fields.bits
    guard slice.macroblock_address == 0, slice.num_macroblocks == macroblockCount,
      slice.macroblock_info == VA_INVALID_ID
    else { throw .invalidParameter.because("a slice that is not the whole picture") }
    guard slice.slice_type == 2 || (slice.slice_type == 0 && fields.idr_pic_flag == 0) else {
      throw .invalidParameter.because("a slice that is neither I nor P, or P in an IDR picture")
    }
    guard slice.disable_deblocking_filter_idc <= 2, slice.cabac_init_idc <= 2,
      (-6...6).contains(slice.slice_alpha_c0_offset_div2),
      (-6...6).contains(slice.slice_beta_offset_div2)
    else { throw .invalidParameter.because("deblocking or CABAC parameters beyond their range") }
    let deblocksAsUsual =
      slice.disable_deblocking_filter_idc == 0 && slice.slice_alpha_c0_offset_div2 == 0
      && slice.slice_beta_offset_div2 == 0
    guard fields.deblocking_filter_control_present_flag == 1 || deblocksAsUsual else {
      throw .invalidParameter.because("deblocking parameters that no header can carry")
    }
    guard (0...51).contains(Int(picture.pic_init_qp) + Int(slice.slice_qp_delta)) else {
      throw .invalidParameter.because("a slice QP outside 0 to 51")
    }
  }
}
