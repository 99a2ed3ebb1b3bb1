import CPipeWire

/// Where a picture's pixels lie in its buffer, and what its producer said of them.
package struct PictureLayout: Sendable {
  package let pixel: PixelFormat
  /// Of the first pixel, in bytes from the buffer's start.
  package let offset: Int
  /// From one row's first byte to the next one's.
  package let stride: Int
  /// The part to show, in a buffer of the agreed format's size.
  package let crop: Rectangle
  /// Planes beside the first one, for who reads dma-bufs; strides of 0 where there are none.
  package let planes: InlineArray<4, PlaneLayout>
  /// In nanoseconds of CLOCK_MONOTONIC, as far as the producer is right; nil when it gave none.
  package let pts: Int64?
  /// Which picture of its producer's it is; 0 where nobody counts.
  package let sequence: UInt64
  /// `SPA_META_TRANSFORMATION_*`: how the picture was turned before it got here.
  package let transform: UInt32
  /// What may have changed since the last picture taken; nil says anything may have.
  package internal(set) var damage: Rectangle?
}

extension PictureLayout {
  /// Of the part to show.
  package var width: Int { crop.width }
  package var height: Int { crop.height }

  /// Reads what stands beside a buffer's pixels; nil when that is no picture.
  init?(_ buffer: UnsafePointer<spa_buffer>, byteCount: Int, format: VideoFormat) {
    let chunk = unsafe ph_read_chunk(&buffer.pointee.datas[0])
    let header: spa_meta_header? = unsafe meta(SPA_META_Header, of: buffer).map {
      unsafe ph_read_header($0)
    }
    let isCorrupted =
      UInt32(bitPattern: chunk.flags) & SPA_CHUNK_FLAG_CORRUPTED != 0
      || (header?.flags ?? 0) & UInt32(SPA_META_HEADER_FLAG_CORRUPTED) != 0
    // A stride of 0 stands for rows without a gap: GStreamer's sink gives none.
    let rowByteCount = format.width * PixelFormat.byteCount
    let stride = chunk.stride == 0 ? rowByteCount : Int(chunk.stride)
    // A chunk of a dma-buf says nothing by its size, and its rows need not be rows; of other memory a
    // size that is too small is a buffer without a picture.
    let isDMABuf = format.modifier != nil
    let size = isDMABuf ? byteCount - min(Int(chunk.offset), byteCount) : Int(chunk.size)
    guard !isCorrupted, stride >= rowByteCount,
      (format.height - 1) * stride + rowByteCount <= size, Int(chunk.offset) + size <= byteCount
    else { return nil }

    let whole = Rectangle(x: 0, y: 0, width: format.width, height: format.height)
    // Around a crop there may be what nobody is to see: one that shows nothing is no picture, and never
    // stands for all of it.
    let hasCrop = unsafe spa_buffer_find_meta(buffer, SPA_META_VideoCrop.rawValue) != nil
    let crop = unsafe hasCrop ? Rectangle.first(of: SPA_META_VideoCrop, in: buffer) : whole
    guard let shown = crop?.intersection(whole) else { return nil }
    self.init(
      pixel: format.pixel,
      offset: Int(chunk.offset) + shown.y * stride + shown.x * PixelFormat.byteCount,
      stride: stride, crop: shown,
      planes: unsafe Self.planes(
        of: buffer, first: PlaneLayout(offset: Int(chunk.offset), stride: stride)),
      pts: header.flatMap { $0.pts > 0 ? $0.pts : nil },
      sequence: header?.seq ?? 0,
      transform: unsafe meta(SPA_META_VideoTransform, of: buffer).map {
        unsafe ph_read_transform($0)
      } ?? 0,
      damage: unsafe Self.damage(of: buffer, shown: shown))
  }

  private static func planes(
    of buffer: UnsafePointer<spa_buffer>, first: PlaneLayout
  ) -> InlineArray<4, PlaneLayout> {
    var planes = InlineArray<4, PlaneLayout>(repeating: PlaneLayout(offset: 0, stride: 0))
    planes[0] = first
    for index in unsafe 1..<max(1, min(Int(buffer.pointee.n_datas), 4)) {
      let chunk = unsafe ph_read_chunk(&buffer.pointee.datas[index])
      planes[index] = PlaneLayout(offset: Int(chunk.offset), stride: Int(max(0, chunk.stride)))
    }
    return planes
  }

  /// The regions' common hull, counted from the shown part's corner.
  private static func damage(of buffer: UnsafePointer<spa_buffer>, shown: Rectangle) -> Rectangle? {
    var hull: Rectangle?
    unsafe Rectangle.each(of: SPA_META_VideoDamage, in: buffer) { region in
      hull = hull?.union(region) ?? region
    }
    guard let seen = hull?.intersection(shown) else { return nil }
    return Rectangle(
      x: seen.x - shown.x, y: seen.y - shown.y, width: seen.width, height: seen.height)
  }
}

private func meta<Meta>(_ type: spa_meta_type, of buffer: UnsafePointer<spa_buffer>)
  -> UnsafePointer<Meta>?
{
  unsafe UnsafePointer(
    spa_buffer_find_meta_data(buffer, type.rawValue, MemoryLayout<Meta>.size)?
      .assumingMemoryBound(to: Meta.self))
}

extension Rectangle {
  fileprivate static func first(of type: spa_meta_type, in buffer: UnsafePointer<spa_buffer>)
    -> Rectangle?
  {
    var found: Rectangle?
    unsafe each(of: type, in: buffer) { if found == nil { found = $0 } }
    return found
  }

  /// The first region that is empty ends the list.
  fileprivate static func each(
    of type: spa_meta_type, in buffer: UnsafePointer<spa_buffer>, _ body: (Rectangle) -> Void
  ) {
    guard let list = unsafe spa_buffer_find_meta(buffer, type.rawValue) else { return }
    let count = unsafe Int(list.pointee.size) / MemoryLayout<spa_meta_region>.size
    for index in 0..<count {
      let region = unsafe ph_read_region(
        list.pointee.data.assumingMemoryBound(to: spa_meta_region.self) + index)
      guard region.size.width > 0, region.size.height > 0 else { return }
      body(
        Rectangle(
          x: Int(region.position.x), y: Int(region.position.y), width: Int(region.size.width),
          height: Int(region.size.height)))
    }
  }
}
