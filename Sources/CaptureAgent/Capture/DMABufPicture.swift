import PipeWire

/// A picture that a device can read where it lies.
struct DMABufPicture: Sendable {
  let buffer: DMABuf
  let format: PixelFormat
  /// Of the whole buffer, of which a part may be shown.
  let width: Int
  let height: Int
  /// As many as the buffer has; the others' strides are 0.
  let planes: InlineArray<4, PlaneLayout>
  /// The part to show.
  let crop: Rectangle
}
