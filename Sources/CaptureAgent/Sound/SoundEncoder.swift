import COpus

/// libopus for one stereo sound: frames of 20 ms in, packets of at most 1,275 bytes out (RFC 6716,
/// 3.4). Nothing is allocated after its making. Loop thread only.
@safe
final class SoundEncoder {
  /// Pairs of samples in a frame.
  static let framePairs = 960
  static let samplesPerSecond = 48_000
  // What a packet may have.
  private static let packetCapacity = 1275
  // Where a further step costs more time than it can be heard at these rates.
  private static let complexity: Int32 = 5

  private let raw: OpaquePointer
  private var packet = [UInt8](repeating: 0, count: packetCapacity)
  /// How much later a decoder gives a sample out than it stood in its frame, in nanoseconds.
  let delay: Int64

  /// What libopus calls an error, in its words.
  struct Failure: Error, CustomStringConvertible {
    let code: Int32
    var description: String { unsafe "libopus: " + String(cString: opus_strerror(code)) }
  }

  init(bitsPerSecond: Int) throws(Failure) {
    var code: Int32 = 0
    guard
      let raw = unsafe opus_encoder_create(
        Int32(Self.samplesPerSecond), 2, OPUS_APPLICATION_AUDIO, &code)
    else { throw Failure(code: code) }
    unsafe self.raw = raw
    unsafe ph_opus_set_bitrate(raw, Int32(bitsPerSecond))
    unsafe ph_opus_set_complexity(raw, Self.complexity)
    var lookahead: Int32 = 0
    unsafe ph_opus_get_lookahead(raw, &lookahead)
    delay = Int64(lookahead) * 1_000_000_000 / Int64(Self.samplesPerSecond)
  }

  deinit { unsafe opus_encoder_destroy(raw) }

  /// Forgets what came before: the next frame does not follow it.
  func restart() { unsafe ph_opus_reset(raw) }

  /// Calls `body` with the packet of one frame, left and right in turn; it is good until then.
  func encode(_ frame: Span<Float>, _ body: (Span<UInt8>) -> Void) throws(Failure) {
    precondition(frame.count == 2 * Self.framePairs, "one frame at a time")
    let count = unsafe frame.withUnsafeBufferPointer { samples in
      unsafe packet.withUnsafeMutableBufferPointer {
        unsafe opus_encode_float(
          raw, samples.baseAddress!, Int32(Self.framePairs), $0.baseAddress!, Int32($0.count))
      }
    }
    guard count > 0 else { throw Failure(code: count) }
    let made = packet  // Shared, not copied: it goes before the next frame.
    body(made.span.extracting(0..<Int(count)))
  }
}
