/// pic_parameter_set_rbsp(), clause 7.3.2.2: one slice group, one reference by default.
package struct PictureParameterSet: Equatable, Sendable {
  package var id: UInt32 = 0
  package var sequenceID: UInt32 = 0
  package var usesCABAC = false
  package var hasBottomFieldOrder = false
  /// num_ref_idx_l0_default_active_minus1 + 1.
  package var defaultRefCountL0: UInt32 = 1
  package var usesWeightedPrediction = false
  /// 26 + pic_init_qp_minus26.
  package var initialQP: Int32 = 26
  /// -12 to 12.
  package var chromaQPOffset: Int32 = 0
  package var hasDeblockingControl = true
  package var usesConstrainedIntra = false
  package var hasRedundantPictures = false
  package var uses8x8Transform = false

  package init(initialQP: Int32 = 26) {
    self.initialQP = initialQP
  }

  /// The RBSP, trailing bits included.
  package func rbsp() -> [UInt8] {
    var bits = BitWriter()
    bits.putUE(id)
    bits.putUE(sequenceID)
    bits.put(usesCABAC)
    bits.put(hasBottomFieldOrder)
    bits.putUE(0)  // num_slice_groups_minus1
    bits.putUE(defaultRefCountL0 - 1)
    bits.putUE(0)  // num_ref_idx_l1_default_active_minus1
    bits.put(usesWeightedPrediction)
    bits.put(0, bits: 2)  // weighted_bipred_idc
    bits.putSE(initialQP - 26)
    bits.putSE(0)  // pic_init_qs_minus26
    bits.putSE(chromaQPOffset)
    bits.put(hasDeblockingControl)
    bits.put(usesConstrainedIntra)
    bits.put(hasRedundantPictures)
    if uses8x8Transform {
      bits.put(true)
      bits.put(false)  // pic_scaling_matrix_present_flag
      bits.putSE(chromaQPOffset)
    }
    bits.putTrailingBits()
    return bits.bytes
  }

  /// Reads an RBSP that begins at pic_parameter_set_id and may end in trailing zeros.
  package init(rbsp: [UInt8]) throws(BitstreamError) {
    var bits = BitReader(rbsp, bitLength: Self.dataBitCount(of: rbsp))
    id = try bits.readUE(max: 255, "pic_parameter_set_id")
    sequenceID = try bits.readUE(max: 31, "seq_parameter_set_id")
    usesCABAC = try bits.readFlag()
    hasBottomFieldOrder = try bits.readFlag()
    guard try bits.readUE() == 0 else { throw .unsupported("slice groups") }
    defaultRefCountL0 = try bits.readUE(max: 31, "num_ref_idx_l0_default_active_minus1") + 1
    _ = try bits.readUE(max: 31, "num_ref_idx_l1_default_active_minus1")
    usesWeightedPrediction = try bits.readFlag()
    _ = try bits.read(bits: 2)
    initialQP = 26 + (try bits.readSE())
    guard (0...51).contains(initialQP) else { throw .invalid("pic_init_qp_minus26") }
    _ = try bits.readSE()
    chromaQPOffset = try bits.readSE()
    guard (-12...12).contains(chromaQPOffset) else { throw .invalid("chroma_qp_index_offset") }
    hasDeblockingControl = try bits.readFlag()
    usesConstrainedIntra = try bits.readFlag()
    hasRedundantPictures = try bits.readFlag()
    if bits.remaining > 0 {
      uses8x8Transform = try bits.readFlag()
      guard try !bits.readFlag() else { throw .unsupported("scaling matrix") }
      guard try bits.readSE() == chromaQPOffset else { throw .unsupported("two chroma QP offsets") }
    }
  }

  /// more_rbsp_data(), clause 7.2: the bits before the last one that is set.
  private static func dataBitCount(of rbsp: [UInt8]) -> Int {
    var count = rbsp.count
    while count > 0, rbsp[count - 1] == 0 { count -= 1 }
    guard count > 0 else { return 0 }
    return count * 8 - rbsp[count - 1].trailingZeroBitCount - 1
  }
}
