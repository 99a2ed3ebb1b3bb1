import Posix

/// Moves packets from a reader to its socket, one at a time, so that what waits stays in the reader,
/// where it can be dropped. The same for programs and players.
final class PacketPump: PacketSink {
  let reader: Reader
  private let stream: TCPStream
  private var isSending = false
  /// When something was given to the socket last.
  private(set) var lastSent: Moment
  /// Called when nothing waits any more.
  var drained: (() -> Void)?
  /// Goes on when the kernel has taken what it could not take at once; nil once stopped.
  private var resume: (() -> Void)?
  private var progress: ProgressWatch

  /// `stream` is connected.
  init(_ reader: Reader, to stream: TCPStream, now: Moment) {
    self.reader = reader
    self.stream = stream
    lastSent = now
    progress = ProgressWatch(now: now)
    // Nothing here is weak: an object that is referred to weakly counts slowly for ever, and this
    // one is counted for each packet. `stop` ends both references.
    reader.sink = self
    resume = { [self] in
      guard resume != nil else { return }
      isSending = false
      pump()
    }
    // A reader on this machine cannot go without a word, and one that is slow would be cut for what
    // its kernel does (`ConnectionProgress`).
    if SocketAddress.peer(of: stream.descriptor)?.isLoopback == true { stream.limitSilence(nil) }
  }

  func offer(_ packet: Packet, now: Moment) {
    lastSent = now
    isSending = true
    guard stream.write(packet.bytes, taken: resume) else { return }
    isSending = false
    pump()
  }

  /// Sends what waits, as far as the socket takes it; goes on by itself from then on.
  func pump() {
    guard !isSending else { return }
    isSending = true
    while let packet = reader.take() {
      lastSent = .now
      guard stream.write(packet.bytes, taken: resume) else { return }
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

  /// Whether its reader has taken nothing for too long.
  func isStuck(now: Moment) -> Bool {
    let taken = isBlocked ? ConnectionProgress.takenBytes(of: stream.descriptor) : 0
    return progress.isStuck(taken: taken, hasWaiting: isBlocked, now: now)
  }

  /// Gives nothing more to the socket, which the kernel alone looks after from then on.
  func stop() {
    stream.limitSilence(RelayLimits.userTimeout)
    resume = nil
    reader.sink = nil
    reader.overflowed = nil
    drained = nil
  }
}
