import Posix

/// Reads a stream like any viewer, and takes what is needed to show its last picture: the head of the
/// file and all from a keyframe on.
final class PictureCatch: PacketSink {
  private let reader = Reader(name: "snapshot")
  private let source: Stream
  private let caught: ([Packet]) -> Void
  private var packets: [Packet] = []

  /// `caught` is called once, when they are there.
  init(_ source: Stream, caught: @escaping ([Packet]) -> Void) {
    self.source = source
    self.caught = caught
    reader.sink = self
    source.join(reader, now: .now)
  }

  /// What a stream keeps for those who join comes in one piece.
  func offer(_ packet: Packet, now: Moment) {
    var next: Packet? = packet
    while let packet = next {
      packets.append(packet)
      next = reader.take()
    }
    guard packets.contains(where: { $0.kind == .keyframe }) else { return }
    stop()
    caught(packets)
  }

  func stop() {
    source.leave(reader)
    reader.sink = nil
  }
}
