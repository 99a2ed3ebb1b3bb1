import CVA

/// The parameter structures of one picture, right until a test spoils them.
struct PictureParameters {
  var sequence: VAEncSequenceParameterBufferH264?
  var picture = VAEncPictureParameterBufferH264()
  var slice = VAEncSliceParameterBufferH264()
  var source: VASurfaceID

  init(client: DriverClient, qp: Int, isIDR: Bool) {
    source = client.input
    if isIDR { sequence = Self.sequence(of: client) }
    picture.CurrPic.picture_id = client.target
    picture.CurrPic.frame_idx = UInt32(client.frameNum)
    picture.coded_buf = client.codedBuffer
    picture.frame_num = UInt16(client.frameNum & 255)
    picture.pic_init_qp = UInt8(qp)
    picture.pic_fields.bits.idr_pic_flag = isIDR ? 1 : 0
    picture.pic_fields.bits.reference_pic_flag = 1
    picture.pic_fields.bits.deblocking_filter_control_present_flag = 1
    fill(&picture.ReferenceFrames, with: Self.noPicture)
    fill(&slice.RefPicList0, with: Self.noPicture)
    fill(&slice.RefPicList1, with: Self.noPicture)
    slice.num_macroblocks = UInt32(client.columns * client.rows)
    slice.macroblock_info = VA_INVALID_ID
    slice.slice_type = isIDR ? 2 : 0
    slice.idr_pic_id = UInt16(client.count & 1)
    if !isIDR { refer(to: client.reference) }
  }

  mutating func refer(to surface: VASurfaceID) {
    var entry = VAPictureH264()
    entry.picture_id = surface
    entry.flags = UInt32(VA_PICTURE_H264_SHORT_TERM_REFERENCE)
    picture.ReferenceFrames.0 = entry
    slice.RefPicList0.0 = entry
  }

  private static func sequence(of client: DriverClient) -> VAEncSequenceParameterBufferH264 {
    var sequence = VAEncSequenceParameterBufferH264()
    sequence.level_idc = 40
    sequence.intra_period = 65535
    sequence.intra_idr_period = 65535
    sequence.ip_period = 1
    sequence.max_num_ref_frames = 1
    sequence.picture_width_in_mbs = UInt16(client.columns)
    sequence.picture_height_in_mbs = UInt16(client.rows)
    sequence.seq_fields.bits.chroma_format_idc = 1
    sequence.seq_fields.bits.frame_mbs_only_flag = 1
    sequence.seq_fields.bits.direct_8x8_inference_flag = 1
    sequence.seq_fields.bits.log2_max_frame_num_minus4 = 4
    sequence.seq_fields.bits.pic_order_cnt_type = 2
    sequence.frame_cropping_flag = 1
    sequence.frame_crop_right_offset = UInt32(client.columns * 16 - client.width) / 2
    sequence.frame_crop_bottom_offset = UInt32(client.rows * 16 - client.height) / 2
    return sequence
  }

  private static var noPicture: VAPictureH264 {
    var entry = VAPictureH264()
    entry.picture_id = VA_INVALID_ID
    entry.flags = UInt32(VA_PICTURE_H264_INVALID)
    return entry
  }
}

private func fill<List>(_ list: inout List, with entry: VAPictureH264) {
  withUnsafeMutableBytes(of: &list) { bytes in
    bytes.bindMemory(to: VAPictureH264.self).update(repeating: entry)
  }
}

/// Miscellaneous parameters as a client sends them: the kind, then the structure.
func miscParameters<Value>(_ type: VAEncMiscParameterType, _ value: Value) -> [UInt8] {
  bytes(of: type) + bytes(of: value)
}

/// A C structure as the bytes of a buffer.
func bytes<Value>(of value: Value) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
