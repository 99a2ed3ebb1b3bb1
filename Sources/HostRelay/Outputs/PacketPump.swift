/// Moves packets from a reader to its socket, one at a time, so that what waits stays in the reader,
/// where it can be dropped. The same for programs and players.
final class PacketPump {
  let reader: Reader
  /// When something was given to the socket last.
  private(set) var lastSent: Moment
  /// Called when nothing waits any more.
  var drained: (() -> Void)?

  private let stream: TCPStream
  private var progress: ProgressWatch
  private var isSending = false

  init(_ reader: Reader, to stream: TCPStream, now: Moment) {
    self.reader = reader
    self.stream = stream
    lastSent = now
    progress = ProgressWatch(now: now)
    reader.wake = { [weak self] in self?.pump() }
  }

  /// Sends what waits, as far as the socket takes it; goes on by itself from then on.
  func pump() {
    guard !isSending else { return }
    isSending = true
    while let packet = reader.take() {
      lastSent = .now
      guard write(packet.bytes) else { return }
    }
    isSending = false
    drained?()
  }

  /// Sends something beside the packets.
  func send(_ bytes: SharedBytes) {
    stream.write(bytes)
    lastSent = .now
  }

  /// Whether the socket still has bytes to take.
  var isBlocked: Bool { stream.queuedBytes > 0 }

  /// Whether the socket has taken nothing for too long.
  func isStuck(now: Moment) -> Bool {
    let acknowledged = isBlocked ? ConnectionState(of: stream.descriptor).acknowledgedBytes : 0
    return progress.isStuck(acknowledged: acknowledged, hasWaiting: isBlocked, now: now)
  }

  /// Gives nothing more to the socket.
  func stop() {
    reader.wake = nil
    reader.overflowed = nil
    drained = nil
  }

  /// Whether the kernel took all of `bytes` at once; otherwise pumping goes on when it has.
  private func write(_ bytes: SharedBytes) -> Bool {
    var isTaken = false
    var isWaiting = false
    stream.write(bytes) { [weak self] in
      isTaken = true
      guard isWaiting, let self else { return }
      self.isSending = false
      self.pump()
    }
    isWaiting = !isTaken
    return isTaken
  }
}
