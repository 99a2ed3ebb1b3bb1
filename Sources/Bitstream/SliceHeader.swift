/// slice_header(), clause 7.3.3, of I and P slices of frames with one reference list.
package struct SliceHeader: Equatable, Sendable {
  package enum SliceType: UInt32, Sendable {
    case p = 0
    case i = 2
  }

  package var firstMacroblock: UInt32 = 0
  package var type: SliceType
  /// slice_type + 5: all slices of the picture have this type.
  package var isOnlyType = true
  package var parameterSetID: UInt32 = 0
  package var frameNum: UInt32
  /// Only in an IDR picture.
  package var idrPictureID: UInt32 = 0
  /// Only with `PictureOrder.lsb`.
  package var orderLSB: UInt32 = 0
  /// num_ref_idx_l0_active; nil leaves the picture parameter set's.
  package var refCountL0: UInt32?
  /// Only with CABAC in a P slice.
  package var cabacInitIDC: UInt32 = 0
  /// SliceQPY - 26 - pic_init_qp_minus26.
  package var qpDelta: Int32
  /// The next three only where the picture parameter set has deblocking control.
  package var disableDeblocking: UInt32 = 0
  package var alphaOffsetDiv2: Int32 = 0
  package var betaOffsetDiv2: Int32 = 0

  package init(type: SliceType, frameNum: UInt32, qpDelta: Int32) {
    self.type = type
    self.frameNum = frameNum
    self.qpDelta = qpDelta
  }

  /// Writes the header without NAL unit byte; slice data follows at the next bit.
  package func write(
    to bits: inout BitWriter, nal: NALUnitHeader, sequence: SequenceParameterSet,
    picture: PictureParameterSet
  ) {
    bits.putUE(firstMacroblock)
    bits.putUE(type.rawValue + (isOnlyType ? 5 : 0))
    bits.putUE(parameterSetID)
    bits.put(frameNum, bits: Int(sequence.log2MaxFrameNum))
    if nal.type == .sliceIDR { bits.putUE(idrPictureID) }
    if case .lsb(let log2Max) = sequence.pictureOrder {
      bits.put(orderLSB, bits: Int(log2Max))
      if picture.hasBottomFieldOrder { bits.putSE(0) }
    }
    if picture.hasRedundantPictures { bits.putUE(0) }
    if type == .p {
      bits.put(refCountL0 != nil)
      if let refCountL0 { bits.putUE(refCountL0 - 1) }
      bits.put(false)  // ref_pic_list_modification_flag_l0
    }
    if nal.refIDC != 0 {
      if nal.type == .sliceIDR {
        bits.put(false)  // no_output_of_prior_pics_flag
        bits.put(false)  // long_term_reference_flag
      } else {
        bits.put(false)  // adaptive_ref_pic_marking_mode_flag: sliding window
      }
    }
    if picture.usesCABAC, type == .p { bits.putUE(cabacInitIDC) }
    bits.putSE(qpDelta)
    if picture.hasDeblockingControl {
      bits.putUE(disableDeblocking)
      if disableDeblocking != 1 {
        bits.putSE(alphaOffsetDiv2)
        bits.putSE(betaOffsetDiv2)
      }
    }
  }

  /// Reads from the first bit behind the NAL unit byte; `bits` then stands at the slice data.
  package init(
    from bits: inout BitReader, nal: NALUnitHeader, sequence: SequenceParameterSet,
    picture: PictureParameterSet
  ) throws(BitstreamError) {
    firstMacroblock = try bits.readUE(max: 1 << 20, "first_mb_in_slice")
    let rawType = try bits.readUE(max: 9, "slice_type")
    guard let type = SliceType(rawValue: rawType % 5) else { throw .unsupported("slice_type") }
    self.type = type
    isOnlyType = rawType >= 5
    parameterSetID = try bits.readUE(max: 255, "pic_parameter_set_id")
    frameNum = try bits.read(bits: Int(sequence.log2MaxFrameNum))
    if nal.type == .sliceIDR { idrPictureID = try bits.readUE(max: 65535, "idr_pic_id") }
    if case .lsb(let log2Max) = sequence.pictureOrder {
      orderLSB = try bits.read(bits: Int(log2Max))
      if picture.hasBottomFieldOrder { _ = try bits.readSE() }
    }
    if picture.hasRedundantPictures { _ = try bits.readUE() }
    if type == .p {
      if try bits.readFlag() {
        refCountL0 = try bits.readUE(max: 31, "num_ref_idx_l0_active_minus1") + 1
      }
      guard try !bits.readFlag() else { throw .unsupported("reference list modification") }
      guard !picture.usesWeightedPrediction else { throw .unsupported("weighted prediction") }
    }
    if nal.refIDC != 0 {
      if nal.type == .sliceIDR {
        _ = try bits.readFlag()
        guard try !bits.readFlag() else { throw .unsupported("long term references") }
      } else {
        guard try !bits.readFlag() else { throw .unsupported("adaptive reference marking") }
      }
    }
    if picture.usesCABAC, type == .p { cabacInitIDC = try bits.readUE(max: 2, "cabac_init_idc") }
    qpDelta = try bits.readSE()
    if picture.hasDeblockingControl {
      disableDeblocking = try bits.readUE(max: 2, "disable_deblocking_filter_idc")
      if disableDeblocking != 1 {
        alphaOffsetDiv2 = try bits.readSE()
        betaOffsetDiv2 = try bits.readSE()
        guard (-6...6).contains(alphaOffsetDiv2), (-6...6).contains(betaOffsetDiv2) else {
          throw .invalid("slice deblocking offsets")
        }
      }
    }
  }
}
