import CLinux
import CPipeWire
import Glibc
package import Posix
package import TestSupport

@testable package import PipeWire

/// A compositor's half of a screencast: a PipeWire node that hands out memfds, as the real ones do.
/// What it says of a picture is the test's to choose.
package final class ScreenProducer {
  /// What goes beside the pixels.
  package struct Picture: Sendable {
    package var color: UInt32
    package var offset: UInt32
    package var stride: Int32?
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

    package init() {}

    /// Bytes at the end of each row that are no pixels.
    package var rowGap = ScreenProducer.rowGap

    fileprivate var blockCount: Int { hasBlocks ? format.planeCount : 1 }
  }

  /// Bytes at the end of each row that are no pixels.
  package static let rowGap = 64
  /// Bytes before the first row that are no pixels.
  package static let headGap = 128

  package let name: String
  private let context: OpaquePointer
  private let core: OpaquePointer
  private let stream: OpaquePointer
  private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
  private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
  private let bufferCounts: ClosedRange<Int32>
  /// What it offers.
  private var wished: (width: Int, height: Int)
  /// What was agreed on.
  private var width: Int
  private var height: Int
  /// Of the dma-bufs that it offers; memfds stand in for them.
  private let modifiers: [UInt64]
  package private(set) var offer: Offer
  /// Whether dma-bufs were agreed on.
  private var usesDMABufs = false
  /// Whether what it refuses was agreed on.
  private var isRefusing = false
  package private(set) var isStreaming = false
  package private(set) var bufferCount = 0
  private var buffers: [UnsafeMutablePointer<pw_buffer>] = []

  /// The test runs the loop. The consumer may have so many buffers as `bufferCounts` says; one number
  /// is insisted on.
  package init(
    loop: Loop, remote: consuming OwnedFD, name: String, role: String, width: Int, height: Int,
    bufferCounts: ClosedRange<Int32> = 2...16,
    modifiers: [UInt64] = [], offer: Offer = Offer()
  ) throws {
    self.name = name
    self.offer = offer
    self.bufferCounts = bufferCounts
    wished = (width, height)
    self.width = width
    self.height = height
    self.modifiers = modifiers
    context = pw_context_new(loop.raw, nil, 0)
    core = pw_context_connect_fd(context, remote.release(), nil, 0)
    let properties = pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_MEDIA_CLASS, "Video/Source"), (PW_KEY_MEDIA_ROLE, role), (PW_KEY_NODE_NAME, name),
    ] { pw_properties_set(properties, key, value) }
    stream = pw_stream_new(core, name, properties)
    hook.initialize(to: spa_hook())
    events.initialize(to: Self.events)
    pw_stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
    let flags = PW_STREAM_FLAG_DRIVER.rawValue | PW_STREAM_FLAG_ALLOC_BUFFERS.rawValue
    try withFormats { formats, count in
      try check(
        pw_stream_connect(
          stream, SPA_DIRECTION_OUTPUT, UInt32.max, pw_stream_flags(rawValue: flags), formats,
          count), "pw_stream_connect")
    }
  }

  deinit {
    // Takes the buffers away, by `remove`.
    pw_stream_disconnect(stream)
    spa_hook_remove(hook)
    pw_stream_destroy(stream)
    pw_core_disconnect(core)
    pw_context_destroy(context)
    hook.deallocate()
    events.deallocate()
  }

  /// Offers another size, as a compositor does whose output changed.
  package func resize(width: Int, height: Int) throws {
    wished = (width, height)
    try withFormats { formats, count in
      try check(pw_stream_update_params(stream, formats, count), "pw_stream_update_params")
    }
  }

  /// No longer offers what it refuses.
  package func withdrawRefused() throws {
    offer.refused = nil
    try resize(width: wished.width, height: wished.height)
  }

  /// Sends one picture, if the consumer left a buffer for it.
  @discardableResult
  package func present(_ picture: Picture) -> Bool {
    guard isStreaming, let buffer = pw_stream_dequeue_buffer(stream) else { return false }
    let data = buffer.pointee.buffer.pointee.datas
    if picture.isCursorAlone {
      memset(data![0].data, 0xee, Int(data![0].maxsize))
      data![0].chunk.pointee = spa_chunk(
        offset: 0, size: 0, stride: 0, flags: Int32(SPA_CHUNK_FLAG_CORRUPTED))
    } else if let painted = picture.painted {
      lay(painted, into: data!)
    } else if let coded = picture.coded {
      let count = min(coded.count, Int(data![0].maxsize) - Self.headGap)
      _ = coded.withUnsafeBytes { memcpy(data![0].data + Self.headGap, $0.baseAddress!, count) }
      data![0].chunk.pointee = spa_chunk(
        offset: UInt32(Self.headGap), size: UInt32(count), stride: 0, flags: 0)
    } else {
      draw(picture, into: data!)
    }
    fillMetas(of: buffer.pointee.buffer, picture)
    pw_stream_queue_buffer(stream, buffer)
    pw_stream_trigger_process(stream)
    return true
  }

  private func draw(_ picture: Picture, into data: UnsafeMutablePointer<spa_data>) {
    let pixels = data[0].data!
    let stride = width * 4 + offer.rowGap
    if picture.rows == nil, picture.draw == nil { memset(pixels, 0xee, Int(data[0].maxsize)) }
    picture.draw?(pixels + Self.headGap, stride, width, height)
    for y in 0..<(picture.draw == nil ? min(height, picture.rows ?? height) : 0) {
      let row = (pixels + Self.headGap + y * stride).assumingMemoryBound(to: UInt32.self)
      for x in 0..<width { row[x] = picture.color &+ UInt32(y << 12 | x) }
    }
    data[0].chunk.pointee = spa_chunk(
      offset: UInt32(Self.headGap) + picture.offset, size: picture.size ?? UInt32(stride * height),
      stride: picture.stride ?? Int32(stride), flags: picture.chunkFlags)
  }

  /// Planes with gaps that are no samples, and what is said of them.
  private func lay(_ picture: PaintedPicture, into data: UnsafeMutablePointer<spa_data>) {
    let samples = picture.planes(offer.format, offer.colour)
    for index in 0..<offer.blockCount { memset(data[index].data, 0xee, Int(data[index].maxsize)) }
    var offset = Self.headGap
    for (index, plane) in samples.enumerated() {
      let block = offer.hasBlocks ? index : 0
      if offer.hasBlocks { offset = Self.headGap }
      let rows = rows(ofPlane: index)
      let stride = stride(ofPlane: index)
      for row in 0..<plane.rows.count {
        plane.rows[row].withUnsafeBytes {
          _ = memcpy(data[block].data + offset + row * stride, $0.baseAddress!, $0.count)
        }
      }
      offset += rows * stride
      if index == 0 || offer.hasBlocks {
        data[block].chunk.pointee = spa_chunk(
          offset: UInt32(Self.headGap), size: 0,
          stride: offer.saysStride ? Int32(stride) : 0, flags: 0)
      }
      data[block].chunk.pointee.size = UInt32(offset - Self.headGap)
    }
  }

  /// As video devices have it: one stride, halved where a plane has half the width. Without one, as
  /// GStreamer has it.
  private func stride(ofPlane index: Int) -> Int {
    let plane = offer.format.plane(index)
    let words = { (count: Int) in (count + 3) & ~3 }
    if !offer.saysStride { return words(plane.byteCount(ofPixels: (width + 1) & ~1)) }
    let first = words(offer.format.plane(0).byteCount(ofPixels: width)) + offer.rowGap
    return plane.across == 1 && plane.byteCount == 1 ? first / 2 : first
  }

  private func rows(ofPlane index: Int) -> Int {
    let rows = offer.format.plane(index).rows(of: 0..<height).count
    let hasHalfRows = offer.format.plane(offer.format.planeCount - 1).down > 0
    return offer.saysStride || index > 0 || !hasHalfRows ? rows : (rows + 1) & ~1
  }

  private func fillMetas(of buffer: UnsafeMutablePointer<spa_buffer>, _ picture: Picture) {
    if let header = meta(SPA_META_Header, of: buffer, as: spa_meta_header.self) {
      header.pointee.pts =
        switch picture.time {
        case .now: MonotonicClock.now()
        case .at(let time): time
        }
      header.pointee.flags = picture.headerFlags
    }
    if let crop = meta(SPA_META_VideoCrop, of: buffer, as: spa_meta_region.self) {
      let whole = Rectangle(x: 0, y: 0, width: width, height: height)
      crop.pointee.region =
        picture.isCursorAlone ? spa_region() : spa_region(picture.crop ?? whole)
    }
    if let transform = meta(
      SPA_META_VideoTransform, of: buffer, as: spa_meta_videotransform.self)
    {
      transform.pointee.transform = picture.transformation
    }
    if let damage = meta(SPA_META_VideoDamage, of: buffer, as: spa_meta_region.self) {
      for (index, region) in picture.damage.enumerated() {
        damage[index].region = spa_region(region)
      }
      damage[picture.damage.count].region = spa_region()
    }
    if let meta = spa_buffer_find_meta(buffer, SPA_META_Cursor.rawValue) {
      (picture.cursor ?? .hidden).say(in: meta.pointee.data, byteCount: Int(meta.pointee.size))
    }
  }

  /// One for each modifier, then one for memory that anyone can map.
  private func withFormats(
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
      var formats: [UnsafePointer<spa_pod>?] = modifiers.map { modifier in
        var device = info
        device.modifier = modifier
        device.flags = SPA_VIDEO_FLAG_MODIFIER.rawValue
        let format = UnsafePointer(
          spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &device))
        // Who knows no modifiers is to pass over it.
        let property = spa_pod_find_prop(format, nil, SPA_FORMAT_VIDEO_modifier.rawValue)
        UnsafeMutablePointer(mutating: property!).pointee.flags |= UInt32(
          SPA_POD_PROP_FLAG_MANDATORY)
        return format
      }
      if let refused = offer.refused {
        var other = info
        other.format = spa_video_format(rawValue: refused.spa)
        formats.append(spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &other))
      }
      var jpegs = spa_video_info_mjpg()
      (jpegs.size, jpegs.framerate) = (info.size, info.framerate)
      formats.append(
        offer.format == .mjpeg
          ? spa_format_video_mjpg_build(&builder, SPA_PARAM_EnumFormat.rawValue, &jpegs)
          : spa_format_video_raw_build(&builder, SPA_PARAM_EnumFormat.rawValue, &info))
      try body(&formats, UInt32(formats.count))
    }
  }

  private func askForBuffers() {
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
  private func insist(_ buffers: UnsafePointer<spa_pod>?) {
    let property = spa_pod_find_prop(buffers, nil, SPA_PARAM_BUFFERS_buffers.rawValue)!
    let value =
      UnsafeMutableRawPointer(mutating: property) + MemoryLayout<spa_pod_prop>.offset(of: \.value)!
    value.assumingMemoryBound(to: spa_pod_choice.self).pointee.body.type = SPA_CHOICE_None.rawValue
  }

  private func add(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    // More than any format needs.
    let byteCount = Self.headGap + ((width + 8) * 4 + offer.rowGap) * (height + 2)
    for index in 0..<Int(buffer.pointee.buffer.pointee.n_datas) {
      let fd = memfd_create("screen", UInt32(MFD_CLOEXEC) | UInt32(MFD_ALLOW_SEALING))
      ftruncate(fd, byteCount)
      let data = buffer.pointee.buffer.pointee.datas! + index
      data.pointee.type = (usesDMABufs ? SPA_DATA_DmaBuf : SPA_DATA_MemFd).rawValue
      data.pointee.flags = UInt32(SPA_DATA_FLAG_READWRITE)
      data.pointee.fd = Int64(fd)
      data.pointee.mapoffset = 0
      data.pointee.maxsize = UInt32(byteCount)
      data.pointee.data = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    }
    bufferCount += 1
    buffers.append(buffer)
  }

  private func remove(_ buffer: UnsafeMutablePointer<pw_buffer>) {
    bufferCount -= 1
    buffers.removeAll { $0 == buffer }
    for index in 0..<Int(buffer.pointee.buffer.pointee.n_datas) {
      let data = buffer.pointee.buffer.pointee.datas![index]
      munmap(data.data, Int(data.maxsize))
      close(Int32(data.fd))
    }
  }

  /// Writes nonsense over what is said of the pictures in all buffers, the consumer's too, and tries to take
  /// their memory away.
  package func lie(_ random: inout SplitMix) {
    for buffer in buffers where random.below(2) == 0 {
      let raw = buffer.pointee.buffer!
      for index in 0..<Int(raw.pointee.n_datas) where random.below(3) == 0 {
        let data = raw.pointee.datas![index]
        data.chunk.pointee = spa_chunk(
          offset: UInt32(bitPattern: random.lie()), size: UInt32(bitPattern: random.lie()),
          stride: random.lie(), flags: random.below(4) == 0 ? random.lie() : 0)
        if random.below(50) == 0 {
          ftruncate(Int32(data.fd), 4096)
          ftruncate(Int32(data.fd), Int(data.maxsize))
        }
      }
      for index in 0..<Int(raw.pointee.n_metas) {
        let meta = raw.pointee.metas![index]
        guard meta.type != SPA_META_Busy.rawValue else { continue }
        let words = meta.data.assumingMemoryBound(to: Int32.self)
        for word in 0..<Int(meta.size) / 4 where random.below(4) == 0 { words[word] = random.lie() }
      }
    }
  }

  private static var events: pw_stream_events {
    var events = pw_stream_events()
    events.version = UInt32(PW_VERSION_STREAM_EVENTS)
    events.state_changed = { context, _, state, _ in
      producer(context).isStreaming = state == PW_STREAM_STATE_STREAMING
    }
    events.param_changed = { context, id, param in
      guard id == SPA_PARAM_Format.rawValue, let param else { return }
      producer(context).usesDMABufs = ph_has_modifier(param)
      var info = spa_video_info_raw()
      if spa_format_video_raw_parse(param, &info) >= 0 {
        producer(context).width = Int(info.size.width)
        producer(context).height = Int(info.size.height)
        producer(context).isRefusing = producer(context).offer.refused?.spa == info.format.rawValue
      }
      producer(context).askForBuffers()
    }
    events.add_buffer = { context, buffer in producer(context).add(buffer!) }
    events.remove_buffer = { context, buffer in producer(context).remove(buffer!) }
    return events
  }
}

extension SplitMix {
  /// A number that stands where another should.
  fileprivate mutating func lie() -> Int32 {
    let edges: [Int32] = [0, 1, -1, 4, 16, 128, 1280, 1344, 4096, 5120, 65_536, .max, .min]
    return below(4) == 0 ? Int32(truncatingIfNeeded: Int(next() >> 1)) : edges[below(edges.count)]
  }
}

private func producer(_ context: UnsafeMutableRawPointer?) -> ScreenProducer {
  Unmanaged<ScreenProducer>.fromOpaque(context!).takeUnretainedValue()
}

private func check(_ result: Int32, _ call: String) throws {
  if result < 0 { throw PosixError(call, code: -result) }
}

private func meta<Meta>(
  _ type: spa_meta_type, of buffer: UnsafeMutablePointer<spa_buffer>, as: Meta.Type
) -> UnsafeMutablePointer<Meta>? {
  spa_buffer_find_meta_data(buffer, type.rawValue, MemoryLayout<Meta>.size)?
    .assumingMemoryBound(to: Meta.self)
}

extension spa_region {
  fileprivate init(_ region: Rectangle) {
    self.init(
      position: spa_point(x: Int32(region.x), y: Int32(region.y)),
      size: spa_rectangle(width: UInt32(region.width), height: UInt32(region.height)))
  }
}
