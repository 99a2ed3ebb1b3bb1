import CWebSockets
import Posix

/// A stream as the body without end of an answer by libwebsockets: what `LiveConnection` is where no
/// TLS is spoken.
@safe final class LiveBody {
  /// Called once, when it ends or is gone.
  var ended: ((ConsumerEnd) -> Void)?
  let source: Stream

  private let wsi: OpaquePointer
  private let pump: SocketPump
  private var isEnding = false

  /// The answer's head is written; `wsi` lives until `gone`.
  init(_ source: Stream, name: String, wsi: OpaquePointer, now: Moment) {
    self.source = source
    unsafe self.wsi = wsi
    unsafe pump = SocketPump(Reader(name: name), to: wsi, as: LWS_WRITE_HTTP, now: now)
    source.join(pump.reader, now: now)
  }

  func tick(now: Moment) {
    // lws reads nothing behind the request, and not the end: it would be woken by either for ever.
    let socket = unsafe lws_get_socket_fd(wsi)
    if TCPSocket.hasPeerEnded(socket) || TCPSocket.unreadBytes(of: socket) > 0 {
      close(.left)
    } else if pump.isStuck(now: now) {
      close(.slow("took nothing for 2 s"))
    }
  }

  private func close(_ reason: ConsumerEnd) {
    unsafe lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
    end(reason)
    pump.stop()
  }

  /// The socket takes bytes. Returns false to close it.
  func write() -> Bool { pump.write() && (!isEnding || pump.isBlocked) }

  /// Lets what waits go out, then closes: the stream has ended. One that has sent nothing yet stays.
  func finishStream() {
    if pump.reader.hasStarted { finish() }
  }

  /// The relay ends: what waits still goes out.
  func finish() {
    isEnding = true
    end(.left)
    pump.want()
  }

  /// lws has closed it.
  func gone() {
    end(.left)
    pump.stop()
  }

  private func end(_ reason: ConsumerEnd) {
    source.leave(pump.reader)
    ended?(reason)
    ended = nil
  }
}
