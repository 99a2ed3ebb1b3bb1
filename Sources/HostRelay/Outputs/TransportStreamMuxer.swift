import CAVFormat

/// A libavformat call that failed; `code` is its AVERROR.
struct MuxerError: Error, CustomStringConvertible {
  let call: StaticString
  let code: Int32

  var description: String { "\(call): error \(code)" }
}

/// MPEG-TS of one H.264 stream by libavformat, through memory: what goes in comes out at once.
///
/// PAT and PMT stand before every keyframe, so that a reader may begin there. Each PES packet says
/// its length where 16 bits hold it, and then a demuxer need not wait for the next one.
@safe final class TransportStreamMuxer {
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let sink: Sink

  init() throws(MuxerError) {
    av_log_set_level(AV_LOG_QUIET)
    var context: UnsafeMutablePointer<AVFormatContext>?
    try checkMuxer(
      unsafe avformat_alloc_output_context2(&context, nil, "mpegts", nil),
      "avformat_alloc_output_context2")
    guard let context = unsafe context, let packet = unsafe av_packet_alloc() else {
      throw MuxerError(call: "av_packet_alloc", code: -12)
    }
    unsafe self.context = context
    unsafe self.packet = packet
    sink = Sink()
    try open()
  }

  /// One access unit in Annex B as whole TS packets. `time` counts 90 kHz, from 0 on, and rises.
  func mux(
    _ accessUnit: Span<UInt8>, time: Int64, isKeyframe: Bool
  ) throws(MuxerError) -> [UInt8] {
    if isKeyframe {
      unsafe av_opt_set(context.pointee.priv_data, "mpegts_flags", "+resend_headers", 0)
    }
    sink.bytes.removeAll(keepingCapacity: true)
    let result = unsafe accessUnit.withUnsafeBytes { bytes in
      unsafe packet.pointee.data = UnsafeMutablePointer(
        mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
      unsafe packet.pointee.size = Int32(bytes.count)
      unsafe packet.pointee.pts = time
      unsafe packet.pointee.dts = time
      unsafe packet.pointee.stream_index = 0
      unsafe packet.pointee.flags = isKeyframe ? AV_PKT_FLAG_KEY : 0
      return unsafe av_write_frame(context, packet)
    }
    try checkMuxer(result, "av_write_frame")
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
    unsafe stream.pointee.time_base = AVRational(num: 1, den: 90_000)
    unsafe stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    unsafe stream.pointee.codecpar.pointee.codec_id = AV_CODEC_ID_H264
    var options: OpaquePointer?
    unsafe av_dict_set(&options, "omit_video_pes_length", "0", 0)
    defer { unsafe av_dict_free(&options) }
    try checkMuxer(unsafe avformat_write_header(context, &options), "avformat_write_header")
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
