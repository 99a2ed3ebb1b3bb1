import CLinux
import Glibc
import Posix

/// Gives a reader's packets to a child's standard input, one at a time, so that what waits stays in
/// the reader, where it can be dropped.
///
/// It is there before the child: the first packet says that there is something to start one for.
final class ChildFeed: PacketSink {
  let reader: Reader
  /// Called with the first packet, once.
  var wanted: (() -> Void)?
  /// Bytes that the pipe has taken.
  private(set) var byteCount = 0
  /// When a keyframe went into the pipe last.
  private(set) var lastKeyframe: Moment?

  private let loop: EventLoop
  private var pipe: ChildPipe?
  private var poll: LoopPoll?
  /// What is being written, and how much of it the pipe has.
  private var current: (packet: Packet, written: Int)?
  private var isFinishing = false
  private var progress: ProgressWatch?

  init(_ reader: Reader, loop: EventLoop) {
    self.reader = reader
    self.loop = loop
    reader.sink = self
  }

  /// Whether a packet has come.
  var hasBegun: Bool { wanted == nil }

  func offer(_ packet: Packet, now: Moment) {
    current = (packet, 0)
    if let wanted {
      self.wanted = nil
      wanted()
    } else {
      write()
    }
  }

  /// Begins to write into `pipe`, whose other end the child has.
  func open(_ pipe: ChildPipe, now: Moment) throws(UVError) {
    poll = try LoopPoll(pipe.ours, on: loop)
    self.pipe = pipe
    progress = ProgressWatch(now: now, limit: RelayLimits.childStuckAfter)
    write()
  }

  /// Ends the child's input once what waits is written.
  func finish() {
    isFinishing = true
    if current == nil { close() }
  }

  /// Ends the child's input at once.
  func close() {
    poll?.close()
    poll = nil
    pipe = nil
    current = nil
    wanted = nil
    reader.sink = nil
  }

  /// Whether the child has read nothing for too long, with something there to read.
  func isStuck(now: Moment) -> Bool {
    guard let descriptor = pipe?.ours else { return false }
    let unread = Int(max(0, linux_unread_bytes(descriptor)))
    return progress?.isStuck(
      taken: Int64(byteCount - unread), hasWaiting: unread > 0 || current != nil, now: now) == true
  }

  private func write() {
    guard let descriptor = pipe?.ours else { return }
    while let packet = current?.packet ?? reader.take() {
      let start = current?.written ?? 0
      let count = unsafe packet.bytes.bytes[start...].withContiguousStorageIfAvailable {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      guard let count, count >= 0 else {
        current = (packet, start)
        // A child that is gone is heard of by its end.
        if errno == EAGAIN { poll?.start(.writable) { [weak self] in self?.write() } }
        return
      }
      byteCount += count
      let isWhole = start + count == packet.bytes.count
      current = isWhole ? nil : (packet, start + count)
      if isWhole, packet.kind == .keyframe { lastKeyframe = .now }
    }
    poll?.stop()
    if isFinishing { close() }
  }
}
