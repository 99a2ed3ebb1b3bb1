/// The agent's own figures, sent once a second: a number for each `Figure`, in any order.
///
///     2          2        8
///     count, then figure + value for each
///
/// A figure that the reader does not know is an error, as everywhere on this wire.
package struct AgentFigures: Equatable, Sendable {
  package enum Figure: UInt16, CaseIterable, Sendable {
    case vmPeakKB = 1
    case vmSizeKB = 2
    case vmDataKB = 3
    case rssKB = 4
    case rssPeakKB = 5
    case threads = 6
    /// 0: no limit.
    case limitDataKB = 7
    case limitAddressKB = 8
    case framesCaptured = 16
    case framesReplaced = 17
    /// Buffers that were no frames: corrupt, empty, impossible sizes.
    case framesInvalid = 18
    case framesEncoded = 19
    case picturesUnchanged = 20
    case picturesFailed = 21
    case keyframes = 22
    case packetsSent = 23
    case bytesSent = 24
    /// Bits a second that the encoder keeps to.
    case bitrate = 25
    /// Microseconds, of the last second's pictures.
    case encodeMedianUS = 26
    case encodeMaxUS = 27
    /// Of Opus, made.
    case soundPackets = 28
    /// What took longest of PipeWire's calls with frames since the start, in microseconds, and how many
    /// took over 1 ms: nothing may wait there.
    case callbackMaxUS = 29
    case callbacksSlow = 30
    /// Frames whose source gave a time that could not be right: they have the time that they came at, less what one takes to come.
    case framesMistimed = 31
    /// What no limit counts, or not whole: memfds that others made and we hold, those of our own, what
    /// is mapped of frames at once, small messages that wait, and the link's memory in the kernel.
    case framesHeldKB = 32
    case framesMappedKB = 33
    case memfdKB = 34
    case sendQueueBytes = 35
    case socketBytes = 36
    /// Since the start: bytes of frames written into the encoder's input, the one copy there is.
    case bytesCopied = 37
    /// Calls of malloc since the start: of the encoder's thread while it makes a picture, and of the
    /// loop's but for what it does once a second.
    case encoderAllocations = 38
    case loopAllocations = 39
    case plannedKB = 40
    case memoryStep = 41
  }

  private var values: [Figure: UInt64] = [:]

  package init() {}

  package subscript(figure: Figure) -> UInt64 {
    get { values[figure] ?? 0 }
    set { values[figure] = newValue }
  }

  func write(to fields: inout FieldWriter) {
    fields.put(UInt16(values.count))
    for figure in Figure.allCases {
      guard let value = values[figure] else { continue }
      fields.put(figure.rawValue)
      fields.put(value)
    }
  }

  init(from fields: inout FieldReader) throws(WireError) {
    let count = try fields.read(UInt16.self)
    guard count <= UInt16(Figure.allCases.count) else { throw .invalid("number of figures") }
    for _ in 0..<count {
      guard let figure = Figure(rawValue: try fields.read()) else { throw .invalid("figure") }
      values[figure] = try fields.read()
    }
  }
}

extension AgentFigures.Figure {
  /// Whether it counts from the agent's start on, and only grows.
  package var isCount: Bool {
    switch self {
    case .framesCaptured, .framesReplaced, .framesInvalid, .framesMistimed, .framesEncoded,
      .picturesUnchanged, .picturesFailed, .keyframes, .packetsSent, .bytesSent, .soundPackets,
      .bytesCopied, .callbacksSlow, .encoderAllocations, .loopAllocations:
      true
    default: false
    }
  }

  /// The name in the status and the metrics.
  package var name: String {
    switch self {
    case .vmPeakKB: "vm_peak_kb"
    case .vmSizeKB: "vm_size_kb"
    case .vmDataKB: "vm_data_kb"
    case .rssKB: "rss_kb"
    case .rssPeakKB: "rss_peak_kb"
    case .threads: "threads"
    case .limitDataKB: "limit_data_kb"
    case .limitAddressKB: "limit_address_kb"
    case .framesCaptured: "frames_captured"
    case .framesReplaced: "frames_replaced"
    case .framesInvalid: "frames_invalid"
    case .framesEncoded: "frames_encoded"
    case .picturesUnchanged: "pictures_unchanged"
    case .picturesFailed: "pictures_failed"
    case .keyframes: "keyframes"
    case .packetsSent: "packets_sent"
    case .bytesSent: "bytes_sent"
    case .bitrate: "bitrate"
    case .encodeMedianUS: "encode_median_us"
    case .encodeMaxUS: "encode_max_us"
    case .soundPackets: "sound_packets"
    case .callbackMaxUS: "callback_max_us"
    case .callbacksSlow: "callbacks_slow"
    case .framesMistimed: "frames_mistimed"
    case .framesHeldKB: "frames_held_kb"
    case .framesMappedKB: "frames_mapped_kb"
    case .memfdKB: "memfd_kb"
    case .sendQueueBytes: "send_queue_bytes"
    case .socketBytes: "socket_bytes"
    case .bytesCopied: "bytes_copied"
    case .encoderAllocations: "encoder_allocations"
    case .loopAllocations: "loop_allocations"
    case .plannedKB: "planned_kb"
    case .memoryStep: "memory_step"
    }
  }
}
