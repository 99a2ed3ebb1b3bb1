import Glibc
import Posix
import TestSupport
import Wire

/// Many consumers of 13580 in one thread: each packet's arrival is noted, its payload thrown away.
final class ReaderCrowd {
  private struct Member {
    let socket: ScriptedPeer
    /// Nil: as fast as it comes.
    var bytesPerSecond: Int?
    var isStopped = false
    var taken = 0
    var head: [UInt8] = []
    var rest = 0
    var packet: MessageHeader?
    var packets: [(pts: Int64, isKeyframe: Bool, delay: Duration)] = []
  }

  private var members: [Member] = []
  private let begin = ContinuousClock.now
  private var piece = [UInt8](repeating: 0, count: 1 << 16)

  /// Connects and greets all.
  init(of address: SocketAddress, count: Int) throws {
    members = try (0..<count).map { _ in
      Member(socket: try ScriptedPeer.consumer(of: address))
    }
  }

  func stop(_ range: Range<Int>) { for index in range { members[index].isStopped = true } }

  func slowDown(_ range: Range<Int>, bytesPerSecond: Int) {
    for index in range { members[index].bytesPerSecond = bytesPerSecond }
  }

  func speedUp(_ range: Range<Int>) { for index in range { members[index].bytesPerSecond = nil } }

  func packetCount(of index: Int) -> Int { members[index].packets.count }

  func lastPTS(of index: Int) -> Int64? { members[index].packets.last?.pts }

  /// From a packet's PTS, the moment when it was sent, to its last byte here.
  func delays(of index: Int) -> [Duration] { members[index].packets.map(\.delay) }

  /// Whether each packet that reader `index` got follows the one before in `sent`, or is a keyframe.
  func isWhole(_ index: Int, sent: [Int64]) -> Bool {
    var last = -2
    for packet in members[index].packets {
      guard let place = sent.firstIndex(of: packet.pts), place > last else { return false }
      guard packet.isKeyframe || place == last + 1 else { return false }
      last = place
    }
    return true
  }

  /// Reads what has come, waiting for it a millisecond.
  func read() throws {
    var wanted = members.map { member in
      pollfd(
        fd: isAllowed(member) > 0 ? member.socket.socket.raw : -1, events: Int16(POLLIN),
        revents: 0)
    }
    guard poll(&wanted, nfds_t(wanted.count), 1) > 0 else { return }
    for index in wanted.indices where wanted[index].revents != 0 {
      try read(&members[index])
    }
  }

  private func isAllowed(_ member: Member) -> Int {
    if member.isStopped { return 0 }
    guard let rate = member.bytesPerSecond else { return .max }
    let time = (ContinuousClock.now - begin) / .milliseconds(1)
    return Int(time * Double(rate) / 1000) - member.taken
  }

  private func read(_ member: inout Member) throws {
    while case let allowed = isAllowed(member), allowed > 0 {
      let isHead = member.packet == nil
      let missing = isHead ? MessageHeader.byteCount - member.head.count : member.rest
      // A payload is counted in the kernel and never copied (MSG_TRUNC).
      let flags = Int32(MSG_DONTWAIT) | (isHead ? 0 : Int32(MSG_TRUNC))
      let count =
        missing == 0
        ? 0
        : recv(
          member.socket.socket.raw, &piece, min(missing, allowed, isHead ? 64 : 1 << 20), flags)
      if missing > 0, count <= 0 {
        if count < 0, errno == EAGAIN { return }
        member.isStopped = true
        return
      }
      member.taken += count
      if isHead {
        member.head += piece[..<count]
        guard member.head.count == MessageHeader.byteCount else { continue }
        let header = try MessageHeader(member.head.span, payloadLimit: WireLimits.payload)
        member.packet = header
        member.rest = header.length
        member.head = []
      } else {
        member.rest -= count
      }
      if member.rest == 0, let header = member.packet {
        member.packet = nil
        guard header.kind == .packet else { continue }
        member.packets.append(
          (
            header.pts, header.flags.contains(.keyframe),
            .nanoseconds(MonotonicClock.now() - header.pts)
          ))
      }
    }
  }
}
