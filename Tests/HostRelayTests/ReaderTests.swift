import Glibc
import Posix
import TestSupport
import Testing

@testable import HostRelay

@Suite struct ReaderTests {
  private let start = Moment.now

  private func at(_ milliseconds: Int) -> Moment { start + .milliseconds(milliseconds) }

  private func kinds(of reader: Reader) -> [Packet.Kind] {
    var kinds: [Packet.Kind] = []
    while let packet = reader.take() { kinds.append(packet.kind) }
    return kinds
  }

  @Test("a reader starts at a keyframe, with messages before it")
  func startsAtKeyframe() {
    let reader = Reader(name: "reader")
    for kind in [.picture, .sound, .message, .keyframe, .picture, .sound] as [Packet.Kind] {
      reader.put(packet(kind), now: start)
    }
    #expect(kinds(of: reader) == [.message, .keyframe, .picture, .sound])
    #expect(reader.drops.behind == 0)
  }

  @Test("a reader half a second behind gets sound but no picture until a keyframe")
  func softDelay() {
    let reader = Reader(name: "reader")
    reader.put(packet(.keyframe), now: start)
    reader.put(packet(.picture), now: at(499))
    reader.put(packet(.picture), now: at(500))
    reader.put(packet(.sound), now: at(501))
    #expect(kinds(of: reader) == [.keyframe, .picture, .sound])
    reader.put(packet(.picture), now: at(533))
    #expect(kinds(of: reader).isEmpty)
    reader.put(packet(.keyframe), now: at(566))
    reader.put(packet(.picture), now: at(600))
    #expect(kinds(of: reader) == [.keyframe, .picture])
    #expect(reader.drops.behind == 2)
    #expect(reader.drops.overrun == 0)
    #expect(reader.drops.bytes == 200)
  }

  @Test("a reader a second and a half behind loses what waits and resumes at a keyframe")
  func hardDelay() {
    let reader = Reader(name: "reader")
    reader.put(packet(.keyframe), now: start)
    reader.put(packet(.sound), now: at(1))
    reader.put(packet(.message), now: at(2))
    reader.put(packet(.sound), now: at(1499))
    #expect(reader.drops.overrun == 0)
    reader.put(packet(.keyframe), now: at(1500))
    #expect(reader.drops.overrun == 3)
    #expect(kinds(of: reader) == [.message, .keyframe])
  }

  @Test("4 MiB may wait, one byte more throws the queue away")
  func hardBytes() {
    for (last, drops) in [(-1, 0), (0, 0), (1, 1)] {
      let reader = Reader(name: "reader")
      reader.put(packet(.keyframe, bytes: 1 << 20), now: start)
      let rest = RelayLimits.hardBytes - (1 << 20) + last
      reader.put(packet(.picture, bytes: rest), now: start)
      #expect(reader.drops.overrun == drops)
      #expect(kinds(of: reader).count == (drops == 0 ? 2 : 0))
    }
  }

  @Test("one packet is never refused for its own size")
  func largePacket() {
    let reader = Reader(name: "reader")
    reader.put(packet(.keyframe, bytes: RelayLimits.hardBytes + 1), now: start)
    #expect(kinds(of: reader) == [.keyframe])
  }

  @Test("a joiner's burst counts for no limit")
  func burst() {
    let reader = Reader(name: "reader")
    reader.start(
      with: [packet(.keyframe, bytes: RelayLimits.hardBytes), packet(.picture, bytes: 1 << 20)],
      now: start)
    reader.put(packet(.picture), now: at(0))
    reader.put(packet(.picture), now: at(499))
    #expect(kinds(of: reader) == [.keyframe, .picture, .picture, .picture])
    #expect(reader.drops.behind == 0 && reader.drops.overrun == 0)
  }

  @Test("a keyframe is asked for once, and only when nothing else waits")
  func asksWhenDrained() {
    let reader = Reader(name: "reader")
    var asked = 0
    reader.needsKeyframe = { asked += 1 }
    #expect(reader.take() == nil)
    #expect(asked == 0, "a joiner is asked for by its stream")
    reader.put(packet(.keyframe), now: start)
    reader.put(packet(.picture), now: at(500))
    #expect(asked == 0)
    #expect(reader.take()?.kind == .keyframe)
    #expect(asked == 0)
    #expect(reader.take() == nil)
    #expect(reader.take() == nil)
    #expect(asked == 1)
  }

  @Test("a sink that found nothing is offered the next packet, and takes those behind it itself")
  func offers() {
    final class Sink: PacketSink {
      var offered: [Packet.Kind] = []
      func offer(_ packet: Packet, now: Moment) { offered.append(packet.kind) }
    }
    let (reader, sink) = (Reader(name: "reader"), Sink())
    reader.sink = sink
    reader.start(with: [packet(.keyframe), packet(.picture)], now: start)
    reader.put(packet(.message), now: start)
    #expect(sink.offered == [.keyframe])
    #expect(kinds(of: reader) == [.picture, .message])
    reader.put(packet(.picture), now: start)
    reader.put(packet(.sound), now: start)
    #expect(sink.offered == [.keyframe, .picture])
    #expect(kinds(of: reader) == [.sound])
  }

  @Test("what is lost is said once a second, by name, with bytes and advice")
  func dropLog() {
    var log = DropLog()
    let readers = (1...3).map { Reader(name: "consumer \($0)") }
    for reader in readers { reader.put(packet(.keyframe), now: start) }
    #expect(log.line(for: readers, now: at(-500)) == nil)
    readers[0].put(packet(.picture, bytes: 10), now: at(500))
    readers[1].put(packet(.picture, bytes: 20), now: at(500))
    #expect(
      log.line(for: readers, now: at(500))
        == "consumer 2 is too slow and lost 1 packets, 20 bytes, as 1 others did:"
        + " read faster, or lower the bitrate")
    readers[2].put(packet(.picture, bytes: 30), now: at(600))
    #expect(log.line(for: readers, now: at(1499)) == nil)
    #expect(
      log.line(for: readers, now: at(1500))
        == "consumer 3 is too slow and lost 1 packets, 30 bytes: read faster, or lower the bitrate")
    #expect(log.line(for: readers, now: at(9000)) == nil)
  }

  @Test("messages are never dropped; too many of them close the consumer")
  func messages() {
    let reader = Reader(name: "reader")
    var overflows = 0
    reader.overflowed = { overflows += 1 }
    for _ in 0..<RelayLimits.waitingMessages { reader.put(packet(.message), now: start) }
    #expect(overflows == 0)
    reader.put(packet(.message), now: start)
    #expect(overflows == 1)
    #expect(kinds(of: reader).count == RelayLimits.waitingMessages)
  }

  @Test("what a reader on this machine has taken is what it has read, not what its kernel holds")
  func taken() throws {
    let listener = try TCPSocket.listen(on: SocketAddress("127.0.0.1:0")!, backlog: 8)
    let address = try #require(SocketAddress.local(of: listener.raw))
    let peer = try ScriptedPeer(to: address)
    let socket = try waitUntil("the peer") { () -> ScriptedPeer? in
      guard let socket = try TCPSocket.accept(on: listener.raw) else { return nil }
      return ScriptedPeer(socket)
    }
    try socket.send([UInt8](repeating: 0, count: 1000))
    func taken() -> Int64 { ConnectionProgress.takenBytes(of: socket.socket.raw) }
    try waitUntil("an acknowledgement", isTrue: { taken() == 0 })
    var piece = [UInt8](repeating: 0, count: 400)
    #expect(recv(peer.socket.raw, &piece, piece.count, Int32(MSG_WAITALL)) == 400)
    #expect(taken() == 400)
  }

  @Test("a socket that takes nothing for two seconds is stuck, one that takes a byte is not")
  func stuck() {
    var watch = ProgressWatch(now: start)
    func isStuck(_ bytes: Int64, _ isWaiting: Bool, _ time: Int) -> Bool {
      watch.isStuck(taken: bytes, hasWaiting: isWaiting, now: at(time))
    }
    #expect(!isStuck(0, false, 5000))
    #expect(!isStuck(0, true, 6999))
    #expect(isStuck(0, true, 7000))
    #expect(!isStuck(1, true, 7001))
    #expect(!isStuck(1, true, 9000))
    #expect(isStuck(1, true, 9001))
  }
}
