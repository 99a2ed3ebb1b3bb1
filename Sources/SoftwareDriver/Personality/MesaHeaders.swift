internal import Bitstream
internal import CVA

/// Headers as Mesa 22.3.6 writes them for AMD, whatever the client's structures say.
extension CheckedPicture {
  var mesaSequenceParameterSet: SequenceParameterSet {
    let fields = unsafe sequence.seq_fields.bits
    var set = sequenceParameterSet
    set.id = 0
    // constraint_set1 and constraint_set5, for every profile.
    set.constraintFlags = 0x44
    set.log2MaxFrameNum = 5
    if fields.pic_order_cnt_type == 0 { set.pictureOrder = .lsb(log2Max: 5) }
    // No colours, no timing, and a restriction only with the client's VUI: without it decoders may
    // hold pictures back.
    set.vui =
      sequence.vui_parameters_present_flag == 1
      ? VideoUsability(
        colour: nil, timing: nil,
        restriction: .init(maxReorderFrames: 0, maxDecodedFrames: set.maxRefFrameCount)) : nil
    return set
  }

  var mesaPictureParameterSet: PictureParameterSet {
    var set = PictureParameterSet(initialQP: 26)
    set.usesCABAC = pictureParameterSet.usesCABAC
    set.chromaQPOffset = Int32(picture.chroma_qp_index_offset)
    set.hasDeblockingControl = true
    set.usesConstrainedIntra = pictureParameterSet.usesConstrainedIntra
    return set
  }

  var mesaSliceHeader: SliceHeader {
    var header = sliceHeader
    header.parameterSetID = 0
    header.frameNum %= 32
    header.orderLSB = UInt32(bitPattern: picture.CurrPic.TopFieldOrderCnt) % 32
    header.qpDelta = Int32(sliceQP) - 26
    return header
  }
}
