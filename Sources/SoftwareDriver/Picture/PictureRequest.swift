internal import CVA

/// What a client rendered between `vaBeginPicture` and `vaEndPicture`.
///
/// Everything is copied, so a client may destroy its buffers at once.
struct PictureRequest {
  var picture: VAEncPictureParameterBufferH264?
  var slice: VAEncSliceParameterBufferH264?
  var hasNewSequence = false
  var headers = PackedHeaders()

  /// Ready for the next picture, with the memory kept.
  mutating func clear() {
    picture = nil
    slice = nil
    hasNewSequence = false
    headers.clear()
  }
}
