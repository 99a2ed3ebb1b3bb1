import CWebSockets

/// Moves packets from a reader to a connection of libwebsockets, which says when its socket takes
/// some. What waits stays in the reader, where it can be dropped.
@safe final class SocketPump: PacketSink {
  let reader: Reader
  /// When something was given to the socket last.
  private(set) var lastSent: Moment
  /// lws was asked for the socket, and has not given it yet.
  private(set) var isBlocked = false

  private let wsi: OpaquePointer
  private let how: lws_write_protocol
  private var progress: ProgressWatch
  /// Goes out before what waits in the reader.
  private var offered: Packet?

  /// `wsi` lives until `stop`. Each packet is written as `how` says.
  init(_ reader: Reader, to wsi: OpaquePointer, as how: lws_write_protocol, now: Moment) {
    self.reader = reader
    unsafe self.wsi = wsi
    self.how = how
    lastSent = now
    progress = ProgressWatch(now: now)
    reader.sink = self
  }

  func offer(_ packet: Packet, now: Moment) {
    offered = packet
    want()
  }

  /// Asks lws for the socket.
  func want() {
    isBlocked = true
    unsafe lws_callback_on_writable(wsi)
  }

  /// The socket takes bytes. Returns false when it is broken.
  func write() -> Bool {
    isBlocked = false
    while let packet = offered.take() ?? reader.take() {
      let bytes = unsafe packet.bytes.writable
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      guard unsafe lws_write(wsi, start, bytes.count, how) >= 0 else { return false }
      lastSent = .now
      if unsafe lws_partial_buffered(wsi) != 0 || lws_send_pipe_choked(wsi) != 0 {
        want()
        return true
      }
    }
    return true
  }

  /// Whether the browser has taken nothing for too long.
  func isStuck(now: Moment) -> Bool {
    let taken =
      unsafe isBlocked ? ConnectionProgress.takenBytes(of: lws_get_socket_fd(wsi)) : 0
    return progress.isStuck(taken: taken, hasWaiting: isBlocked, now: now)
  }

  /// Gives nothing more to the socket.
  func stop() {
    reader.sink = nil
    reader.overflowed = nil
    offered = nil
  }
}
