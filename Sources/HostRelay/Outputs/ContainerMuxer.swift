import CAVFormat

/// A libavformat call that failed; `code` is its AVERROR.
struct MuxerError: Error, CustomStringConvertible {
  let call: StaticString
  let code: Int32

  var description: String { "\(call): error \(code)" }
}

/// One H.264 stream and the sounds beside it in a container, by libavformat through memory: what goes in
/// comes out at once.
@safe final class ContainerMuxer {
  enum Container {
    /// MPEG-TS. PAT and PMT stand before every keyframe, so that a reader may begin there. Each PES
    /// packet says its length where 16 bits hold it, and then a demuxer need not wait for the next.
    /// `tables` numbers the sets of tracks that a reader is told of one after the other.
    case transportStream(tables: Int)
    /// Fragmented MP4, a fragment for each picture. `parameterSets` are SPS and PPS in Annex B.
    case fragments(parameterSets: [UInt8], width: Int, height: Int)
  }

  /// What stands before the first packet; empty for MPEG-TS.
  private(set) var header: [UInt8] = []

  private let container: Container
  private let soundCount: Int
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let sink = Sink()
  /// Ticks of 90 kHz, in the stream's own time base.
  private var timeBase = AVRational(num: 1, den: 90_000)

  /// `soundCount` tracks of Opus, stereo, stand behind the picture's.
  init(_ container: Container, soundCount: Int = 0) throws(MuxerError) {
    self.container = container
    self.soundCount = soundCount
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
    return try mux(
      accessUnit, track: 0, time: time, duration: duration, isKeyframe: isKeyframe)
  }

  /// One Opus packet of the sound `index`, in the container. `time` and `duration` count 90 kHz; `time` does
  /// not go back.
  func mux(
    sound packet: Span<UInt8>, index: Int, time: Int64, duration: Int64
  ) throws(MuxerError) -> [UInt8] {
    precondition(index < soundCount, "a track for each sound")
    return try mux(
      packet, track: 1 + index, time: time, duration: duration, isKeyframe: true)
  }

  private func mux(
    _ accessUnit: Span<UInt8>, track: Int, time: Int64, duration: Int64, isKeyframe: Bool
  ) throws(MuxerError) -> [UInt8] {
    // An MP4's sound counts in samples, whatever was asked for.
    let base = unsafe context.pointee.streams[track]!.pointee.time_base
    func ticks(_ value: Int64) -> Int64 { av_rescale_q(value, timeBase, base) }
    sink.bytes.removeAll(keepingCapacity: true)
    let result = unsafe accessUnit.withUnsafeBytes { bytes in
      unsafe packet.pointee.data = UnsafeMutablePointer(
        mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
      unsafe packet.pointee.size = Int32(bytes.count)
      unsafe packet.pointee.pts = ticks(time)
      unsafe packet.pointee.dts = ticks(time)
      unsafe packet.pointee.duration = ticks(duration)
      unsafe packet.pointee.stream_index = Int32(track)
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
    for _ in 0..<soundCount { try addSound() }
    var options: OpaquePointer?
    switch container {
    case .transportStream(let tables):
      unsafe av_dict_set(&options, "omit_video_pes_length", "0", 0)
      // Otherwise sound waits for more of it, up to 120 ms.
      unsafe av_dict_set(&options, "pes_payload_size", "0", 0)
      unsafe av_dict_set(&options, "tables_version", String(tables % 32), 0)
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

  private func addSound() throws(MuxerError) {
    guard let stream = unsafe avformat_new_stream(context, nil),
      let parameters = unsafe stream.pointee.codecpar
    else { throw MuxerError(call: "avformat_new_stream", code: -12) }
    unsafe stream.pointee.time_base = timeBase
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe parameters.pointee.codec_id = AV_CODEC_ID_OPUS
    unsafe parameters.pointee.sample_rate = 48_000
    unsafe parameters.pointee.frame_size = 960
    unsafe av_channel_layout_default(&parameters.pointee.ch_layout, 2)
    // RFC 7845, 5.1. Nothing is skipped at the start: PTS already say when a sample is heard.
    let head = Array("OpusHead".utf8) + [1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0]
    try unsafe setExtraData(head, of: parameters)
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
