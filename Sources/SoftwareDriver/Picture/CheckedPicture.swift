internal import CVA

/// One picture's parameters, after every mistake that real drivers refuse or turn into garbage has
/// been refused.
struct CheckedPicture {
  let sequence: VAEncSequenceParameterBufferH264
  let picture: VAEncPictureParameterBufferH264
  let slice: VAEncSliceParameterBufferH264
  let source: Surface
  let reconstruction: Surface
  let reference: Surface?
  let codedBuffer: DriverBuffer
  let profile: EncodeProfile
  /// Whether the slice's macroblocks say the size of their transform.
  let saysTransformSize: Bool

  init(context: EncodeContext, source: Surface, in driver: Driver) throws(DriverError) {
    guard let profile = EncodeProfile(context.config.profile) else { throw .invalidParameter }
    guard let sequence = context.sequence, let picture = context.request.picture,
      let slice = context.request.slice, !context.request.headers.isIncomplete
    else { throw .invalidParameter }
    try Self.check(sequence, context: context)
    try Self.check(
      picture, profile: profile, hasNewSequence: context.request.hasNewSequence)
    try Self.checkOrder(sequence, picture, slice)
    try Self.check(slice, picture: picture, macroblockCount: context.columns * context.rows)
    guard let reconstruction = driver.surfaces[picture.CurrPic.picture_id],
      reconstruction !== source
    else { throw .invalidSurface }
    guard source.holds(columns: context.columns, rows: context.rows),
      reconstruction.holds(columns: context.columns, rows: context.rows)
    else { throw .invalidSurface.because("a surface that is not NV12, or too small") }
    guard reconstruction.pixels.file.isWritable else { throw .invalidSurface }
    guard let codedBuffer = driver.buffers[picture.coded_buf],
      codedBuffer.type == VAEncCodedBufferType, !codedBuffer.isMapped
    else { throw .invalidBuffer }
    self.sequence = sequence
    self.picture = picture
    self.slice = slice
    self.source = source
    self.reconstruction = reconstruction
    self.codedBuffer = codedBuffer
    self.profile = profile
    // Mesa's own PPS has no 8x8 transform, whatever the client wants.
    saysTransformSize =
      unsafe picture.pic_fields.bits.transform_8x8_mode_flag == 1
      && context.config.personality.headers != .mesa22
    reference =
      slice.slice_type == 0
      ? try Self.reference(of: slice, picture, not: reconstruction, source, in: driver) : nil
  }

  var sliceQP: Int { Int(picture.pic_init_qp) + Int(slice.slice_qp_delta) }

  /// What a viewer sees, by the client's cropping.
  var displayWidth: Int {
    Int(sequence.picture_width_in_mbs) * 16 - Int(sequence.frame_crop_right_offset) * 2
  }
  var displayHeight: Int {
    Int(sequence.picture_height_in_mbs) * 16 - Int(sequence.frame_crop_bottom_offset) * 2
  }

  var isIDR: Bool { unsafe picture.pic_fields.bits.idr_pic_flag == 1 }

  private static func check(
    _ sequence: VAEncSequenceParameterBufferH264, context: EncodeContext
  ) throws(DriverError) {
    let fields = unsafe sequence.seq_fields.bits
    guard fields.frame_mbs_only_flag == 1, fields.chroma_format_idc == 1,
      fields.seq_scaling_matrix_present_flag == 0, sequence.bit_depth_luma_minus8 == 0,
      sequence.bit_depth_chroma_minus8 == 0, fields.pic_order_cnt_type != 1
    else { throw .invalidParameter }
    guard Int(sequence.picture_width_in_mbs) == context.columns,
      Int(sequence.picture_height_in_mbs) == context.rows
    else { throw .invalidParameter }
  }

  private static func check(
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
    guard fields.weighted_pred_flag == 0, fields.pic_scaling_matrix_present_flag == 0,
      (-12...12).contains(picture.chroma_qp_index_offset)
    else { throw .invalidParameter }
    guard fields.idr_pic_flag == 0 || (hasNewSequence && picture.frame_num == 0) else {
      throw .invalidParameter
    }
  }

  /// The picture's numbers fit the bits that the sequence has for them, and agree.
  private static func checkOrder(
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

  private static func check(
    _ slice: VAEncSliceParameterBufferH264, picture: VAEncPictureParameterBufferH264,
    macroblockCount: Int
  ) throws(DriverError) {
    let isIDR = unsafe picture.pic_fields.bits.idr_pic_flag == 1
    guard slice.macroblock_address == 0, slice.num_macroblocks == macroblockCount,
      slice.slice_type == 2 || (slice.slice_type == 0 && !isIDR),
      slice.disable_deblocking_filter_idc <= 2, slice.cabac_init_idc <= 2,
      (-6...6).contains(slice.slice_alpha_c0_offset_div2),
      (-6...6).contains(slice.slice_beta_offset_div2),
      (0...51).contains(Int(picture.pic_init_qp) + Int(slice.slice_qp_delta))
    else { throw .invalidParameter }
  }

  /// The one reference of a P slice: listed, and reconstructed before.
  private static func reference(
    of slice: VAEncSliceParameterBufferH264, _ picture: VAEncPictureParameterBufferH264,
    not reconstruction: Surface, _ source: Surface, in driver: Driver
  ) throws(DriverError) -> Surface {
    let active =
      slice.num_ref_idx_active_override_flag == 1
      ? slice.num_ref_idx_l0_active_minus1 : picture.num_ref_idx_l0_active_minus1
    let entry = slice.RefPicList0.0
    guard active == 0, entry.flags & UInt32(VA_PICTURE_H264_INVALID) == 0,
      entry.picture_id != VA_INVALID_ID
    else { throw .invalidParameter }
    guard let surface = driver.surfaces[entry.picture_id] else { throw .invalidSurface }
    guard surface !== reconstruction, surface !== source, surface.isReference,
      surface.reconstruction != nil, lists(picture, entry.picture_id)
    else { throw .invalidParameter }
    return surface
  }

  private static func lists(
    _ picture: VAEncPictureParameterBufferH264, _ id: VASurfaceID
  ) -> Bool {
    unsafe withUnsafeBytes(of: picture.ReferenceFrames) { bytes in
      unsafe bytes.withMemoryRebound(to: VAPictureH264.self) { frames in
        unsafe frames.contains {
          $0.picture_id == id && $0.flags & UInt32(VA_PICTURE_H264_INVALID) == 0
        }
      }
    }
  }
}

extension CheckedPicture {
  /// Whether one of the surfaces is too large to stay mapped.
  var needsWindows: Bool {
    !source.pixels.isKept || !reconstruction.pixels.isKept || reference?.pixels.isKept == false
  }

  /// The picture as the encoder takes it; the first time makes the reconstruction's memory. The
  /// surfaces are within reach until `close`.
  func open(_ windows: PictureWindows) throws(DriverError) -> PictureJob {
    let columns = Int(sequence.picture_width_in_mbs)
    let rows = Int(sequence.picture_height_in_mbs)
    let memory: Reconstruction
    if let kept = reconstruction.reconstruction, kept.has(columns: columns, rows: rows) {
      memory = kept
    } else {
      memory = try Reconstruction(columns: columns, rows: rows)
      reconstruction.reconstruction = memory
    }
    guard reference?.reconstruction.map({ $0.has(columns: columns, rows: rows) }) ?? true else {
      throw .invalidParameter
    }
    let offsets = PictureJob.DeblockingOffsets(
      alpha: Int(slice.slice_alpha_c0_offset_div2) * 2,
      beta: Int(slice.slice_beta_offset_div2) * 2)
    let views = try openViews(windows)
    return unsafe PictureJob(
      source: views.source, target: views.target, memory: memory, reference: views.reference,
      height: Int(sequence.picture_height_in_mbs) * 16, windows: needsWindows ? windows : nil,
      sliceQP: sliceQP, contextKind: contextKind,
      saysTransformSize: saysTransformSize,
      chromaQPOffset: Int(picture.chroma_qp_index_offset),
      usesConstrainedIntra: picture.pic_fields.bits.constrained_intra_pred_flag == 1,
      deblocking: slice.disable_deblocking_filter_idc == 1 ? nil : offsets)
  }

  private var contextKind: Int? {
    guard unsafe picture.pic_fields.bits.entropy_coding_mode_flag == 1 else { return nil }
    return reference == nil ? 0 : 1 + Int(slice.cabac_init_idc)
  }

  /// Ends what `open` began.
  func close(_ windows: PictureWindows) {
    if needsWindows { return windows.close() }
    source.pixels.release()
    reconstruction.pixels.release()
    reference?.pixels.release()
  }

  private struct Views {
    let source: PictureView
    let target: PictureView
    let reference: PictureJob.Reference?
  }

  private func openViews(_ windows: PictureWindows) throws(DriverError) -> Views {
    let memory = reference?.reconstruction
    guard needsWindows else {
      // Mapped already, so none of this can fail.
      let past = try reference?.hold()
      return Views(
        source: try source.hold(), target: try reconstruction.hold(),
        reference: past.flatMap { view in
          memory.map { PictureJob.Reference(view: view, memory: $0) }
        })
    }
    try windows.open(source: source, target: reconstruction, reference: reference)
    let past = memory.map {
      PictureJob.Reference(view: windows.reference.view(of: 0..<16), memory: $0)
    }
    return Views(
      source: windows.source.view(of: 0..<16), target: windows.target.view(of: 0..<16),
      reference: past)
  }
}
