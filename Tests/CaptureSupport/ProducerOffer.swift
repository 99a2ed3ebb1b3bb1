import CPipeWire

@testable package import PipeWire

extension ScreenProducer {
  /// What it offers, and how it lays pictures out.
  package struct Offer: Sendable {
    package var format = PixelFormat.bgrx
    /// SPA's number of another format; nothing is drawn in it.
    package var spa: UInt32?
    package var colour = SampleColour()
    /// Whether planes lie in a block of memory each, or one behind the other in one.
    package var hasBlocks = false
    /// What it offers before `format`, and then has no buffers for.
    package var refused: PixelFormat?
    /// Whether a picture says its stride, which has a gap then; else rows follow each other in words.
    package var saysStride = true
    /// How many bytes it has for what it says of the pointer, and insists on; nil: it says nothing.
    package var cursorByteCount: Int?
    package var framesPerSecond = (numerator: UInt32(30), denominator: UInt32(1))
    /// Dma-bufs that it offers before memory; memfds stand in for them.
    package var devices: [DMABufChoice] = []
    /// Whether it has memory that anyone can map beside dma-bufs.
    package var hasMemory = true
    /// Bytes at the end of each row that are no pixels.
    package var rowGap = 64
    /// As wide as a picture's rows may be laid out, where it says so itself, in bytes.
    package var mostStride = 0

    package init() {}

    var blockCount: Int { hasBlocks ? format.planeCount : 1 }
  }

  /// One for each kind of dma-bufs, then one for memory that anyone can map.
  func withFormats(
    _ body: (UnsafeMutablePointer<UnsafePointer<spa_pod>?>, UInt32) throws -> Void
  ) throws {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { space in
      var builder = spa_pod_builder()
      spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var info = spa_video_info_raw()
      info.format = spa_video_format(rawValue: offer.spa ?? offer.format.spa)
      info.size = spa_rectangle(width: UInt32(wished.width), height: UInt32(wished.height))
      info.framerate = spa_fraction(
        num: offer.framesPerSecond.numerator, denom: offer.framesPerSecond.denominator)
      offer.colour.say(in: &info)
      var formats: [UnsafePointer<spa_pod>?] = offer.devices.map { choice in
        var device = info
        device.format = spa_video_format(rawValue: choice.format.spa)
        device.modifier = choice.modifier
        device.flags = SPA_VIDEO_FLAG_MODIFIER.rawValue
        let format = UnsafePointer(
          spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &device))
        // Who knows no modifiers is to pass over it.
        let property = spa_pod_find_prop(format, nil, SPA_FORMAT_VIDEO_modifier.rawValue)
        UnsafeMutablePointer(mutating: property!).pointee.flags |= UInt32(
          SPA_POD_PROP_FLAG_MANDATORY)
        return format
      }
      if offer.hasMemory {
        if let refused = offer.refused {
          var other = info
          other.format = spa_video_format(rawValue: refused.spa)
          formats.append(
            spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &other))
        }
        var jpegs = spa_video_info_mjpg()
        (jpegs.size, jpegs.framerate) = (info.size, info.framerate)
        formats.append(
          offer.format == .mjpeg
            ? spa_format_video_mjpg_build(&builder, SPA_PARAM_EnumFormat.rawValue, &jpegs)
            : spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &info))
      }
      try body(&formats, UInt32(formats.count))
    }
  }

  func askForBuffers() {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2048) { space in
      var builder = spa_pod_builder()
      spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var wish = ph_buffer_wish(
        count: max(8, bufferCounts.lowerBound), min_count: bufferCounts.lowerBound,
        max_count: bufferCounts.upperBound,
        data_types: 1
          << Int32((usesDMABufs || isRefusing ? SPA_DATA_DmaBuf : SPA_DATA_MemFd).rawValue),
        blocks: Int32(offer.blockCount), byte_count: 0)
      let region = Int32(MemoryLayout<spa_meta_region>.size)
      let header = Int32(MemoryLayout<spa_meta_header>.size)
      let transform = Int32(MemoryLayout<spa_meta_videotransform>.size)
      let buffers = ph_build_buffers(&builder, &wish)
      if bufferCounts.count == 1 { insist(buffers) }
      var params = [
        buffers,
        ph_build_meta(&builder, SPA_META_Header.rawValue, header, header, header),
        ph_build_meta(&builder, SPA_META_VideoCrop.rawValue, region, region, region),
        ph_build_meta(&builder, SPA_META_VideoTransform.rawValue, transform, transform, transform),
        ph_build_meta(&builder, SPA_META_VideoDamage.rawValue, 4 * region, region, 4 * region),
      ]
      if let byteCount = offer.cursorByteCount.map(Int32.init) {
        params.append(
          ph_build_meta(&builder, SPA_META_Cursor.rawValue, byteCount, byteCount, byteCount))
      }
      pw_stream_update_params(stream, &params, UInt32(params.count))
    }
  }

  /// Makes one number of the range of buffers.
  func insist(_ buffers: UnsafePointer<spa_pod>?) {
    let property = spa_pod_find_prop(buffers, nil, SPA_PARAM_BUFFERS_buffers.rawValue)!
    let value =
      UnsafeMutableRawPointer(mutating: property) + MemoryLayout<spa_pod_prop>.offset(of: \.value)!
    value.assumingMemoryBound(to: spa_pod_choice.self).pointee.body.type = SPA_CHOICE_None.rawValue
  }
}
