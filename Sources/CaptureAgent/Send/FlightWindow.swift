/// How many packets the relay has not acknowledged yet, and how many it may be: max(2, rtt × fps +
/// 2). Beyond that raw frames are skipped before the encoder.
struct FlightWindow {
  private static let sentCapacity = 64

  private let framesPerSecond: Int64
  private(set) var sent: UInt64 = 0
  private(set) var acknowledged: UInt64 = 0
  /// When the last packets were sent, by their number modulo the capacity.
  private var sentTimes = InlineArray<64, Int64>(repeating: 0)
  /// Nanoseconds from a packet to its acknowledgement, the last one measured.
  private(set) var roundTrip: Int64 = 0

  init(framesPerSecond: Int) { self.framesPerSecond = Int64(framesPerSecond) }

  var inFlight: UInt64 { sent - acknowledged }

  /// One packet at a time, for want of memory.
  var isNarrow = false

  var limit: UInt64 {
    isNarrow ? 1 : UInt64(max(2, roundTrip * framesPerSecond / 1_000_000_000 + 2))
  }

  var isFull: Bool { inFlight >= limit }

  mutating func packetWent(at time: Int64) {
    sentTimes[Int(sent % UInt64(Self.sentCapacity))] = time
    sent += 1
  }

  /// false: the relay acknowledges what was never sent, or takes an acknowledgement back.
  mutating func acknowledge(_ packets: UInt64, at time: Int64) -> Bool {
    guard packets <= sent, packets >= acknowledged else { return false }
    if packets > acknowledged, sent - packets < UInt64(Self.sentCapacity) {
      roundTrip = max(time - sentTimes[Int((packets - 1) % UInt64(Self.sentCapacity))], 0)
    }
    acknowledged = packets
    return true
  }
}
