internal import Bitstream
internal import CVA

extension CheckedPicture {
  /// Writes what stands before the slice data: the client's headers where it brought them, our own
  /// where it did not promise any.
  func writeHeaders(of context: EncodeContext, into sink: inout BitSink) throws(DriverError) {
    let headers = context.request.headers
    let promised = context.config.promisedHeaders
    let style = context.config.personality.headers
    if isIDR, !headers.kinds.contains(.sequence) {
      guard !promised.contains(.sequence) else {
        throw .invalidParameter.because("packed parameter sets were promised and are missing")
      }
      writeParameterSets(in: style, into: &sink)
    }
    headers.writeUnits(into: &sink)
    if let header = headers.headers.last(where: { $0.kind == .slice }) {
      headers.writeSliceHeader(header, through: &context.unescaped, into: &sink)
    } else {
      guard !promised.contains(.slice) else {
        throw .invalidParameter.because("a packed slice header was promised and is missing")
      }
      writeSliceHeader(in: style, through: &context.headerBits, into: &sink)
    }
  }

  /// The first byte of the slice's NAL unit.
  var unitHeader: NALUnitHeader {
    let refIDC = unsafe UInt8(picture.pic_fields.bits.reference_pic_flag)
    return NALUnitHeader(type: isIDR ? .sliceIDR : .slice, refIDC: isIDR ? max(1, refIDC) : refIDC)
  }

  private func writeParameterSets(in style: Personality.HeaderStyle, into sink: inout BitSink) {
    let sets =
      style == .mesa22
      ? (mesaSequenceParameterSet.rbsp(), mesaPictureParameterSet.rbsp())
      : (sequenceParameterSet.rbsp(), pictureParameterSet.rbsp())
    for (type, rbsp) in [(.sequenceParameterSet, sets.0), (.pictureParameterSet, sets.1)]
      as [(NALUnitType, [UInt8])]
    {
      sink.beginUnit(header: NALUnitHeader(type: type, refIDC: 3).byte)
      for byte in rbsp { sink.put(UInt32(byte), bits: 8) }
      sink.flushUnit()
    }
  }

  private func writeSliceHeader(
    in style: Personality.HeaderStyle, through bits: inout BitWriter, into sink: inout BitSink
  ) {
    bits.reset()
    if style == .mesa22 {
      mesaSliceHeader.write(
        to: &bits, nal: unitHeader, sequence: mesaSequenceParameterSet,
        picture: mesaPictureParameterSet)
    } else {
      sliceHeader.write(
        to: &bits, nal: unitHeader, sequence: sequenceParameterSet, picture: pictureParameterSet)
    }
    let bitCount = bits.bitCount
    bits.alignWithZeros()
    sink.beginUnit(header: style == .needsSlice ? 0 : unitHeader.byte)
    sink.put(bits.bytes, bitCount: bitCount)
  }

  /// The slice header as the client's structures describe it.
  var sliceHeader: SliceHeader {
    var header = SliceHeader(
      type: reference == nil ? .i : .p, frameNum: UInt32(picture.frame_num),
      qpDelta: Int32(slice.slice_qp_delta))
    header.parameterSetID = UInt32(picture.pic_parameter_set_id)
    header.idrPictureID = UInt32(slice.idr_pic_id)
    header.orderLSB = UInt32(slice.pic_order_cnt_lsb)
    header.refCountL0 = reference != nil && slice.num_ref_idx_active_override_flag == 1 ? 1 : nil
    header.cabacInitIDC = reference == nil ? 0 : UInt32(slice.cabac_init_idc)
    header.disableDeblocking = UInt32(slice.disable_deblocking_filter_idc)
    header.alphaOffsetDiv2 = Int32(slice.slice_alpha_c0_offset_div2)
    header.betaOffsetDiv2 = Int32(slice.slice_beta_offset_div2)
    return header
  }

  /// The SPS as the client's structures describe it; colours are its own to tag.
  var sequenceParameterSet: SequenceParameterSet {
    let fields = unsafe sequence.seq_fields.bits
    var set = SequenceParameterSet(
      profileIDC: profile.idc, constraintFlags: profile.constraintFlags,
      levelIDC: sequence.level_idc,
      log2MaxFrameNum: fields.log2_max_frame_num_minus4 + 4,
      pictureOrder: fields.pic_order_cnt_type == 0
        ? .lsb(log2Max: fields.log2_max_pic_order_cnt_lsb_minus4 + 4) : .decodingOrder,
      maxRefFrameCount: max(1, sequence.max_num_ref_frames),
      widthInMacroblocks: UInt32(sequence.picture_width_in_mbs),
      heightInMacroblocks: UInt32(sequence.picture_height_in_mbs))
    set.id = UInt32(sequence.seq_parameter_set_id)
    if sequence.frame_cropping_flag == 1 {
      set.cropRight = sequence.frame_crop_right_offset * 2
      set.cropBottom = sequence.frame_crop_bottom_offset * 2
    }
    // Without a restriction decoders may hold pictures back.
    var vui = VideoUsability(
      colour: nil, timing: nil,
      restriction: .init(maxReorderFrames: 0, maxDecodedFrames: set.maxRefFrameCount))
    if unsafe sequence.vui_fields.bits.timing_info_present_flag == 1 {
      vui.timing = unsafe .init(
        unitsInTick: sequence.num_units_in_tick, timeScale: sequence.time_scale,
        isFixed: sequence.vui_fields.bits.fixed_frame_rate_flag == 1)
    }
    set.vui = vui
    return set
  }

  /// The PPS as the client's structures describe it.
  var pictureParameterSet: PictureParameterSet {
    let fields = unsafe picture.pic_fields.bits
    var set = PictureParameterSet(initialQP: Int32(picture.pic_init_qp))
    set.id = UInt32(picture.pic_parameter_set_id)
    set.sequenceID = UInt32(sequence.seq_parameter_set_id)
    set.hasBottomFieldOrder = fields.pic_order_present_flag == 1
    set.defaultRefCountL0 = UInt32(picture.num_ref_idx_l0_active_minus1) + 1
    set.chromaQPOffset = Int32(picture.chroma_qp_index_offset)
    set.hasDeblockingControl = fields.deblocking_filter_control_present_flag == 1
    set.usesConstrainedIntra = fields.constrained_intra_pred_flag == 1
    set.usesCABAC = fields.entropy_coding_mode_flag == 1
    set.uses8x8Transform = fields.transform_8x8_mode_flag == 1
    set.hasRedundantPictures = fields.redundant_pic_cnt_present_flag == 1
    return set
  }
}
