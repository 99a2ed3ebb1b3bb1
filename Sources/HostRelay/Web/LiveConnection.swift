import Posix
import Report

/// One player: its request, then a stream without end, written by us straight to its socket.
final class LiveConnection {
  /// Called once, at the end.
  var ended: ((ConsumerEnd) -> Void)?

  var name: String { pump.reader.name }

  private let stream: TCPStream
  private let pump: PacketPump
  private(set) var source: Stream?

  /// Takes over a socket whose request has been read.
  init(_ socket: consuming OwnedFD, name: String, loop: EventLoop, now: Moment) throws(UVError) {
    stream = try TCPStream(on: loop)
    do { try stream.open(socket) } catch {
      stream.close()
      throw error
    }
    pump = PacketPump(Reader(name: name), to: stream, now: now)
  }

  /// Sends the answer; a stream is joined behind its head.
  func give(_ answer: HTTPAnswer, isHead: Bool) {
    stream.ended = { [weak self] in self?.end($0.isDeparture ? .left : .lost("\($0)")) }
    stream.startReading()
    switch answer {
    case .document(let document):
      let head = document.head(length: document.bytes.count)
      pump.send(SharedBytes(head + (isHead ? [] : document.bytes)))
      endWhenSent()
    // None of these paths comes here.
    case .socket, .later: endWhenSent()
    case .stream(let type, let source):
      pump.send(SharedBytes(HTTPDocument(status: 200, type: type, "").head(length: nil)))
      guard !isHead else { return endWhenSent() }
      self.source = source
      source.join(pump.reader, now: .now)
    }
  }

  func tick(now: Moment) {
    if pump.isStuck(now: now) { end(.slow("took nothing for 2 s")) }
  }

  /// Lets what waits go out, then closes: the stream has ended. One that has sent nothing yet stays.
  func finishStream() {
    guard pump.reader.hasStarted else { return }
    pump.drained = { [weak self] in self?.endWhenSent() }
    pump.pump()
  }

  /// The relay ends: what waits still goes out.
  func finish() {
    if pump.reader.hasStarted { finishStream() } else { endWhenSent() }
  }

  /// Closes without waiting.
  private func end(_ reason: ConsumerEnd) {
    guard let ended else { return }
    leave()
    stream.close()
    ended(reason)
  }

  private func endWhenSent() {
    guard let ended else { return }
    leave()
    stream.closeWhenSent()
    ended(.left)
  }

  private func leave() {
    ended = nil
    pump.stop()
    source?.leave(pump.reader)
    source = nil
  }
}
