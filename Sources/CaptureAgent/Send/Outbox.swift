import Glibc
import Posix
import Wire

/// What is on its way into one socket: small messages, and one packet straight from the coded
/// buffer. Loop thread only.
struct Outbox {
  // Small messages that a peer leaves unread: a link that has this much waiting is dead.
  private static let messageLimit = 64 << 10
  // Of these, so much that sound may still be put behind it: a second of two sounds.
  private static let soundLimit = 32 << 10

  private var messages: [UInt8] = []
  private var messageOffset = 0
  private var header = [UInt8](repeating: 0, count: MessageHeader.byteCount)
  private var soundHeader = [UInt8](repeating: 0, count: MessageHeader.byteCount)
  private var packet: OutgoingPacket?
  private var packetOffset = 0

  /// Whether nothing waits.
  var isEmpty: Bool { messages.isEmpty && packet == nil }
  var hasPacket: Bool { packet != nil }

  /// Of small messages.
  var waitingByteCount: Int { messages.count - messageOffset }

  /// false: too much is waiting.
  mutating func put(_ message: Message) -> Bool {
    let bytes = message.encoded()
    guard waitingByteCount + bytes.count <= Self.messageLimit else { return false }
    messages += bytes
    return true
  }

  /// Puts a packet of sound, which is small, among the messages; false: too much is waiting.
  mutating func put(
    sound: Span<UInt8>, pts: Int64, flags: MessageFlags, stream: UInt32
  ) -> Bool {
    guard waitingByteCount + sound.count <= Self.soundLimit else { return false }
    var span = soundHeader.mutableSpan
    MessageHeader(kind: .packet, flags: flags, pts: pts, stream: stream, length: sound.count)
      .write(to: &span)
    messages += soundHeader
    for index in sound.indices { messages.append(sound[index]) }
    return true
  }

  /// Puts a packet, whose bytes are read until the next `send` has taken all of them.
  mutating func put(_ packet: OutgoingPacket, stream: UInt32) {
    precondition(self.packet == nil, "one packet at a time")
    self.packet = packet
    packetOffset = 0
    let said = MessageHeader(
      kind: .packet, flags: packet.flags, pts: packet.unit.pts, stream: stream,
      length: packet.unit.byteCount)
    var span = header.mutableSpan
    said.write(to: &span)
  }

  /// Forgets the packet, whose link is gone.
  mutating func dropPacket() { packet = nil }

  /// Writes what the socket takes now. Throws when the socket is dead.
  mutating func send(to fd: Int32) throws(PosixError) {
    // A message never stands in the middle of a packet.
    if packetOffset == 0, try !sendMessages(to: fd) { return }
    if try sendPacket(to: fd) { _ = try sendMessages(to: fd) }
  }

  /// true when all messages are out.
  private mutating func sendMessages(to fd: Int32) throws(PosixError) -> Bool {
    while messageOffset < messages.count {
      let written = unsafe messages.withUnsafeBytes { bytes in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[messageOffset...])
        return unsafe Glibc.send(fd, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      guard try Self.isTaken(written) else { return false }
      messageOffset += written
    }
    messages.removeAll(keepingCapacity: true)
    messageOffset = 0
    return true
  }

  /// true when no packet is left.
  private mutating func sendPacket(to fd: Int32) throws(PosixError) -> Bool {
    guard let packet else { return true }
    let total = MessageHeader.byteCount + packet.unit.byteCount
    while packetOffset < total {
      let offset = packetOffset
      let written = unsafe header.withUnsafeBytes { header in
        unsafe Self.write(header: header, unit: packet.unit, from: offset, to: fd)
      }
      guard try Self.isTaken(written) else { return false }
      packetOffset += written
    }
    self.packet = nil
    packetOffset = 0
    return true
  }

  /// Header and segments from byte `offset` on, in one call.
  private static func write(
    header: UnsafeRawBufferPointer, unit: AccessUnit, from offset: Int, to fd: Int32
  ) -> Int {
    unsafe withUnsafeTemporaryAllocation(
      of: iovec.self, capacity: AccessUnit.segmentCapacity + 1
    ) { vectors in
      var count = 0
      var skipped = offset
      func add(_ piece: UnsafeRawBufferPointer) {
        let left = unsafe piece.dropFirst(min(skipped, piece.count))
        skipped -= unsafe piece.count - left.count
        guard let base = unsafe UnsafeRawBufferPointer(rebasing: left).baseAddress,
          unsafe !left.isEmpty
        else { return }
        unsafe vectors.initializeElement(
          at: count,
          to: iovec(iov_base: UnsafeMutableRawPointer(mutating: base), iov_len: left.count))
        count += 1
      }
      unsafe add(header)
      for index in 0..<unit.segmentCount { unsafe add(unit.segment(index)) }
      var message = unsafe msghdr()
      unsafe message.msg_iov = vectors.baseAddress
      unsafe message.msg_iovlen = count
      return unsafe sendmsg(fd, &message, Int32(MSG_NOSIGNAL))
    }
  }

  /// false: the socket is full for now.
  private static func isTaken(_ written: Int) throws(PosixError) -> Bool {
    if written >= 0 { return true }
    if errno == EAGAIN { return false }
    if errno == EINTR { return false }
    throw PosixError("send")
  }
}
