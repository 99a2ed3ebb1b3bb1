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
    guard !context.request.headers.isIncomplete else {
      throw .invalidParameter.because("a packed header's parameters without its data")
    }
    guard let sequence = context.sequence, let picture = context.request.picture,
      let slice = context.request.slice
    else { throw .invalidParameter.because("no sequence, picture or slice parameters") }
    try Self.check(sequence, columns: context.columns, rows: context.rows)
    try Self.check(picture, profile: profile, hasNewSequence: context.request.hasNewSequence)
    try Self.checkOrder(sequence, picture, slice)
    try Self.check(slice, picture: picture, macroblockCount: context.columns * context.rows)
    let reconstruction = try Self.reconstruction(of: picture, from: source, in: driver)
    // No list: it would be allocated for each picture.
    guard source.holds(columns: context.columns, rows: context.rows),
      reconstruction.holds(columns: context.columns, rows: context.rows)
    else { throw .invalidSurface.because("a surface that is not NV12, or too small") }
    guard let codedBuffer = driver.buffers[picture.coded_buf],
      codedBuffer.type == VAEncCodedBufferType, !codedBuffer.isMapped
    else { throw .invalidBuffer.because("a coded buffer that is mapped, or none") }
    try Self.checkLists(picture, slice, in: driver)
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
      ? try Self.reference(of: slice, picture, sequence, not: (reconstruction, source), in: driver)
      : nil
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
      isSourceWritable: source.pixels.file.isWritable,
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
