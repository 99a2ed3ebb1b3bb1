import CPipeWire

/// Which buffers a stream asks for once a format is agreed on, and what is to be said beside each picture.
struct BufferWish {
  // One being read, one waiting for the reader, one with the producer; more is its memory. It may get
  // as many as it wishes within a range, so what only some insist on is a second choice.
  static let count = 3
  private static let counts: [ClosedRange<Int32>] = [2...8, 9...16]
  // As many regions of damage as xdg-desktop-portal-wlr gives.
  private static let damageCount = 4

  let format: VideoFormat
  /// Whether the producer is asked what the pointer looks like and where it is.
  let asksForCursor: Bool

  /// Calls `body` with the parameters.
  func withParameters(
    _ body: (UnsafeMutablePointer<UnsafePointer<spa_pod>?>, UInt32) -> Int32
  ) {
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2048) { space in
      var builder = unsafe spa_pod_builder()
      unsafe spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      let region = MemoryLayout<spa_meta_region>.size
      var params = unsafe Self.counts.map { counts in
        var wish = ph_buffer_wish(
          count: max(Int32(Self.count), counts.lowerBound), min_count: counts.lowerBound,
          max_count: counts.upperBound, data_types: dataTypes, blocks: 0,
          byte_count: codedByteCount)
        return unsafe ph_build_buffers(&builder, &wish)
      }
      unsafe params += [
        buildMeta(&builder, SPA_META_Header, MemoryLayout<spa_meta_header>.size),
        buildMeta(&builder, SPA_META_VideoCrop, region),
        buildMeta(&builder, SPA_META_VideoTransform, MemoryLayout<spa_meta_videotransform>.size),
        buildMeta(&builder, SPA_META_VideoDamage, Self.damageCount * region, least: region),
      ]
      if asksForCursor {
        let sizes = CursorNews.metaByteCounts
        unsafe params.append(
          buildMeta(
            &builder, SPA_META_Cursor, CursorNews.usualMetaByteCount, least: sizes.lowerBound,
            most: sizes.upperBound))
      }
      _ = unsafe body(&params, UInt32(params.count))
    }
  }

  private var dataTypes: Int32 {
    format.modifier == nil
      ? 1 << SPA_DATA_MemFd.rawValue | 1 << SPA_DATA_MemPtr.rawValue : 1 << SPA_DATA_DmaBuf.rawValue
  }

  /// Room for a JPEG, where the producer does not say how much it needs; 0 of pixels. Half a byte a pixel is
  /// plenty for what cameras give.
  private var codedByteCount: Int32 {
    format.pixel == .mjpeg ? Int32(clamping: format.width * format.height / 2 + 65_536) : 0
  }
}

private func buildMeta(
  _ builder: UnsafeMutablePointer<spa_pod_builder>, _ type: spa_meta_type, _ byteCount: Int,
  least: Int? = nil, most: Int? = nil
) -> UnsafePointer<spa_pod>? {
  unsafe ph_build_meta(
    builder, type.rawValue, Int32(byteCount), Int32(least ?? byteCount), Int32(most ?? byteCount))
}
