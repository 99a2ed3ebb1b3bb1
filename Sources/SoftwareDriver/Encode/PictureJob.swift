/// One picture to code: what the client gave, checked.
struct PictureJob {
  var source: PictureView
  var target: PictureView
  /// Where to remember what `target` was made from.
  let memory: Reconstruction
  /// The picture that P macroblocks predict from; nil for an I slice.
  var reference: Reference?
  /// Rows of the picture, whole macroblocks.
  let height: Int
  /// What the views above are looked through; nil where they show whole pictures.
  let windows: PictureWindows?
  let isSourceWritable: Bool
  let sliceQP: Int
  /// CABAC's first states, as `CABACContexts` counts them; nil with CAVLC.
  let contextKind: Int?
  /// transform_8x8_mode_flag: macroblocks say that their transform is 4x4.
  let saysTransformSize: Bool
  let chromaQPOffset: Int
  /// constrained_intra_pred_flag: intra macroblocks predict from intra macroblocks alone.
  let usesConstrainedIntra: Bool
  /// Offsets of clause 7.4.3; nil when disable_deblocking_filter_idc is 1.
  let deblocking: DeblockingOffsets?

  struct Reference {
    let view: PictureView
    let memory: Reconstruction
  }

  struct DeblockingOffsets {
    let alpha: Int
    let beta: Int
  }
}
