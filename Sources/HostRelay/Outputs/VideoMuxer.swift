import CAVFormat

/// A libavformat call that failed; `code` is its AVERROR.
struct MuxerError: Error, CustomStringConvertible {
  let call: StaticString
  let code: Int32

  var description: String { "\(call): error \(code)" }
}

/// One H.264 stream in a container, by libavformat through memory: what goes in comes out at once.
@safe final class VideoMuxer {
  enum Container {
    /// MPEG-TS. PAT and PMT stand before every keyframe, so that a reader may begin there. Each PES
    /// packet says its length where 16 bits hold it, and then a demuxer need not wait for the next.
    case transportStream
    /// Fragmented MP4, a fragment for each picture. `parameterSets` are SPS and PPS in Annex B.
    case fragments(parameterSets: [UInt8], width: Int, height: Int)
  }

  /// What stands before the first packet; empty for MPEG-TS.
  private(set) var header: [UInt8] = []

  private let container: Container
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let sink = Sink()
  /// Ticks of 90 kHz, in the stream's own time base.
  private var timeBase = AVRational(num: 1, den: 90_000)

  init(_ container: Container) throws(MuxerError) {
    self.container = container
    av_log_set_level(AV_LOG_QUIET)
    var context: UnsafeMutablePointer<AVFormatContext>?
    let name = if case .transportStream = container { "mpegts" } else { "mp4" }
    try checkMuxer(
      unsafe avformat_alloc_output_context2(&context, nil, name, nil),
      "avformat_alloc_output_context2")
    guard let context = unsafe context, let packet = unsafe av_packet_alloc() else {
      throw MuxerError(call: "av_packet_alloc", code: -12)
    }
    unsafe self.context = context
    unsafe self.packet = packet
    try open()
  }

  /// One access unit in Annex B, in the container. `time` and `duration` count 90 kHz; `time` rises
  /// from 0 on.
  func mux(
    _ accessUnit: Span<UInt8>, time: Int64, duration: Int64, isKeyframe: Bool
  ) throws(MuxerError) -> [UInt8] {
    if isKeyframe, case .transportStream = container {
      unsafe av_opt_set(context.pointee.priv_data, "mpegts_flags", "+resend_headers", 0)
    }
    sink.bytes.removeAll(keepingCapacity: true)
    let result = unsafe accessUnit.withUnsafeBytes { bytes in
      unsafe packet.pointee.data = UnsafeMutablePointer(
        mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
      unsafe packet.pointee.size = Int32(bytes.count)
      unsafe packet.pointee.pts = time
      unsafe packet.pointee.dts = time
      unsafe packet.pointee.duration = duration
      unsafe packet.pointee.stream_index = 0
      unsafe packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
      return unsafe av_write_frame(context, packet)
    }
    try checkMuxer(result, "av_write_frame")
    // Left alone, a fragment would wait for the picture behind it.
    if case .fragments = container {
      try checkMuxer(unsafe av_write_frame(context, nil), "av_write_frame")
    }
    unsafe avio_flush(context.pointee.pb)
    return sink.bytes
  }

  private func open() throws(MuxerError) {
    let bufferBytes = 188 * 348
    let opaque = unsafe Unmanaged.passUnretained(sink).toOpaque()
    guard
      let stream = unsafe avformat_new_stream(context, nil),
      let output = unsafe avio_alloc_context(
        av_malloc(bufferBytes)?.assumingMemoryBound(to: UInt8.self), Int32(bufferBytes), 1, opaque,
        nil, takeMuxedBytes, nil)
    else { throw MuxerError(call: "avio_alloc_context", code: -12) }
    unsafe output.pointee.seekable = 0
    unsafe context.pointee.pb = output
    unsafe context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_CUSTOM_IO
    unsafe stream.pointee.time_base = timeBase
    unsafe stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    unsafe stream.pointee.codecpar.pointee.codec_id = AV_CODEC_ID_H264
    var options: OpaquePointer?
    switch container {
    case .transportStream: unsafe av_dict_set(&options, "omit_video_pes_length", "0", 0)
    case .fragments(let parameterSets, let width, let height):
      unsafe stream.pointee.codecpar.pointee.width = Int32(width)
      unsafe stream.pointee.codecpar.pointee.height = Int32(height)
      try unsafe setExtraData(parameterSets, of: stream.pointee.codecpar)
      unsafe av_dict_set(
        &options, "movflags", "empty_moov+default_base_moof+frag_every_frame", 0)
      unsafe av_dict_set(&options, "video_track_timescale", "90000", 0)
    }
    defer { unsafe av_dict_free(&options) }
    try checkMuxer(unsafe avformat_write_header(context, &options), "avformat_write_header")
    unsafe avio_flush(output)
    header = sink.bytes
  }

  private func setExtraData(
    _ bytes: [UInt8], of parameters: UnsafeMutablePointer<AVCodecParameters>
  ) throws(MuxerError) {
    let padded = bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
    guard let memory = unsafe av_mallocz(padded) else {
      throw MuxerError(call: "av_mallocz", code: -12)
    }
    unsafe memory.copyMemory(from: bytes, byteCount: bytes.count)
    unsafe parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
    unsafe parameters.pointee.extradata_size = Int32(bytes.count)
  }

  deinit {
    if let output = unsafe context.pointee.pb {
      unsafe av_freep(&output.pointee.buffer)
      unsafe avio_context_free(&context.pointee.pb)
    }
    var packet = unsafe Optional(packet)
    unsafe av_packet_free(&packet)
    unsafe avformat_free_context(context)
  }
}

/// Where libavformat writes.
private final class Sink {
  var bytes: [UInt8] = []
}

private func takeMuxedBytes(
  _ opaque: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32
) -> Int32 {
  guard let opaque = unsafe opaque else { return -1 }
  let sink = unsafe Unmanaged<Sink>.fromOpaque(opaque).takeUnretainedValue()
  unsafe sink.bytes.append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
  return count
}

private func checkMuxer(_ code: Int32, _ call: StaticString) throws(MuxerError) {
  guard code < 0 else { return }
  throw MuxerError(call: call, code: code)
}
