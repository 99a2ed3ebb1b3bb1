import CPipeWire

/// Where a picture's pixels lie in its buffer, and what its producer said of them.
package struct PictureLayout: Sendable {
  package let format: VideoFormat
  /// Of the whole picture; for dma-bufs those beside the pixels too. A JPEG is one row of bytes.
  package let planes: PlaneLayouts
  /// The part to show, in pixels of the agreed format's size.
  package let crop: Rectangle
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
  /// Whether a buffer has news of the pointer and no picture. What it says of crop and damage means nothing.
  static func isCursorAlone(_ buffer: UnsafePointer<spa_buffer>) -> Bool {
    let chunk = unsafe ph_read_chunk(&buffer.pointee.datas[0])
    guard chunk.size == 0, UInt32(bitPattern: chunk.flags) & SPA_CHUNK_FLAG_CORRUPTED != 0 else {
      return false
    }
    return unsafe CursorNews.isTold(in: buffer)
  }

  /// Whether a buffer says that nothing is in it, as some do that have news of a pointer alone: there is no
  /// picture, and none is broken. Of a dma-buf a size says nothing: 0 is what many give with a picture.
  static func isEmpty(_ buffer: UnsafePointer<spa_buffer>, format: VideoFormat) -> Bool {
    unsafe format.modifier == nil && ph_read_chunk(&buffer.pointee.datas[0]).size == 0
  }

  /// Of the part to show.
  package var width: Int { crop.width }

  /// Which buffer of its producer's it is; 0 where nobody counts.
  static func sequence(of buffer: UnsafePointer<spa_buffer>) -> UInt64 {
    let header: UnsafePointer<spa_meta_header>? = unsafe meta(SPA_META_Header, of: buffer)
    return unsafe header.map { unsafe ph_read_header($0).seq } ?? 0
  }

  /// Reads what stands beside a buffer's pixels; nil when that is no picture. `shared` is the buffer as
  /// it was taken hold of.
  init?(_ buffer: UnsafePointer<spa_buffer>, in shared: SharedBuffer, format: VideoFormat) {
    let chunk = unsafe ph_read_chunk(&buffer.pointee.datas[0])
    let header: spa_meta_header? = unsafe meta(SPA_META_Header, of: buffer).map {
      unsafe ph_read_header($0)
    }
    let isCorrupted =
      UInt32(bitPattern: chunk.flags) & SPA_CHUNK_FLAG_CORRUPTED != 0
      || (header?.flags ?? 0) & UInt32(SPA_META_HEADER_FLAG_CORRUPTED) != 0
    guard !isCorrupted,
      let planes = format.modifier == nil
        ? unsafe Self.planes(of: buffer, first: chunk, in: shared, format: format)
        : unsafe Self.devicePlanes(of: buffer, first: chunk, in: shared, format: format)
    else { return nil }

    let whole = Rectangle(x: 0, y: 0, width: format.width, height: format.height)
    // Around a crop there may be what nobody is to see: one that shows nothing is no picture, and never
    // stands for all of it.
    let hasCrop = unsafe spa_buffer_find_meta(buffer, SPA_META_VideoCrop.rawValue) != nil
    let crop = unsafe hasCrop ? Rectangle.first(of: SPA_META_VideoCrop, in: buffer) : whole
    guard let shown = crop?.intersection(whole) else { return nil }
    self.init(
      format: format, planes: planes, crop: shown,
      pts: header.flatMap { $0.pts > 0 ? $0.pts : nil },
      sequence: header?.seq ?? 0,
      transform: unsafe meta(SPA_META_VideoTransform, of: buffer).map {
        unsafe ph_read_transform($0)
      } ?? 0,
      damage: unsafe Self.damage(of: buffer, shown: shown))
  }

  /// Planes in a block each, or all of them in the first one.
  private static func planes(
    of buffer: UnsafePointer<spa_buffer>, first: spa_chunk, in shared: SharedBuffer,
    format: VideoFormat
  ) -> PlaneLayouts? {
    let pixel = format.pixel
    if pixel == .mjpeg {
      guard let block = FilledBlock(first, of: shared.byteCount(ofBlock: 0)), block.byteCount > 0
      else { return nil }
      var planes = PlaneLayouts.none
      planes[0] = PlaneLayout(offset: block.offset, stride: block.byteCount)
      return planes
    }
    if shared.blockCount < pixel.planeCount {
      return FilledBlock(first, of: shared.byteCount(ofBlock: 0))?.planes(of: format)
    }
    var planes = PlaneLayouts.none
    for index in 0..<pixel.planeCount {
      let chunk = index == 0 ? first : unsafe ph_read_chunk(&buffer.pointee.datas[index])
      let plane = pixel.plane(index)
      guard let block = FilledBlock(chunk, of: shared.byteCount(ofBlock: index)) else { return nil }
      let stride = block.stride(of: plane, width: format.width)
      let rows = plane.rows(of: 0..<format.height).count
      guard
        block.holds(plane, width: format.width, rows: rows, offset: block.offset, stride: stride)
      else { return nil }
      planes[index] = PlaneLayout(block: index, offset: block.offset, stride: stride)
    }
    return planes
  }

  /// A chunk of a dma-buf says nothing by its size, and its rows need not be rows.
  private static func devicePlanes(
    of buffer: UnsafePointer<spa_buffer>, first: spa_chunk, in shared: SharedBuffer,
    format: VideoFormat
  ) -> PlaneLayouts? {
    var chunk = first
    let byteCount = shared.byteCount(ofBlock: 0)
    guard Int(chunk.offset) < byteCount else { return nil }
    chunk.size = UInt32(clamping: byteCount - Int(chunk.offset))
    guard var planes = FilledBlock(chunk, of: byteCount)?.planes(of: format) else { return nil }
    for index in unsafe 1..<max(1, min(Int(buffer.pointee.n_datas), DMABuf.planeLimit)) {
      let chunk = unsafe ph_read_chunk(&buffer.pointee.datas[index])
      planes[index] = PlaneLayout(
        block: index, offset: Int(chunk.offset), stride: Int(max(0, chunk.stride)))
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
