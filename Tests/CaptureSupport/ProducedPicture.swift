package import PipeWire

extension ScreenProducer {
  /// What goes beside the pixels.
  package struct Picture: Sendable {
    package var color: UInt32
    package var offset: UInt32
    package var stride: Int32?
    /// Bytes from one row to the next, as they are laid out and said to be; nil: as the offer has it.
    package var rowStride: Int?
    package var size: UInt32?
    package var chunkFlags: Int32
    package var crop: Rectangle?
    package var damage: [Rectangle]
    /// So many rows are drawn, the rest stay as they are in the buffer; nil: all.
    package var rows: Int?
    /// `SPA_META_TRANSFORMATION_*`.
    package var transformation: UInt32
    /// 0xRRGGBB of each pixel, drawn in the format that was agreed on, in the place of all that `color`,
    /// `offset`, `stride`, `size` and `rows` say.
    package var painted: PaintedPicture?
    /// What stands in the place of a JPEG.
    package var coded: [UInt8]?
    /// Draws 32-bit pixels, in the place of what `color` and `rows` say: the first pixel, bytes from one row
    /// to the next, width and height.
    package var draw: (@Sendable (UnsafeMutableRawPointer, Int, Int, Int) -> Void)?
    package var time = Time.now
    package var cursor: ToldCursor?
    /// Whether there is no picture: the buffer says what it says of the pointer and nothing else, as mutter's.
    package var isCursorAlone = false
    /// `SPA_META_HEADER_FLAG_*`.
    package var headerFlags: UInt32 = 0

    /// What it says of when it was drawn, in nanoseconds.
    package enum Time: Sendable {
      case now
      case at(Int64)
    }

    package init(
      color: UInt32 = 0, offset: UInt32 = 0, stride: Int32? = nil, size: UInt32? = nil,
      chunkFlags: Int32 = 0, crop: Rectangle? = nil, damage: [Rectangle] = [], rows: Int? = nil,
      transformation: UInt32 = 0, painted: PaintedPicture? = nil
    ) {
      self.color = color
      self.offset = offset
      self.stride = stride
      self.size = size
      self.chunkFlags = chunkFlags
      self.crop = crop
      self.damage = damage
      self.rows = rows
      self.transformation = transformation
      self.painted = painted
    }
  }
}
