import CWebSockets
import Posix
import Wire

/// What a WebSocket carries: the packets of a stream, one in each message.
struct SocketFeed {
  let source: Stream
  /// Goes out first.
  let preface: [Message]
  let isHeld: Bool
  let wantsKeyframe: (_ stream: UInt32) -> Void
}

/// One browser on a WebSocket. Messages of Wire go both ways, as on the consumers' port; who may come
/// in was decided with the request.
@safe final class SocketViewer {
  /// Called once, when it is to be closed, or is gone.
  var ended: ((ConsumerEnd) -> Void)?

  let name: String
  private let feed: SocketFeed
  private let wsi: OpaquePointer
  private let pump: SocketPump
  private var acknowledgements = AcknowledgementWatch()
  private var decoder = MessageDecoder(payloadLimit: WireLimits.greetingPayload)
  /// Why the connection is closed as soon as what waits is out: RFC 6455, 7.4.1.
  private var farewell: (code: lws_close_status, text: String)?

  init(_ feed: SocketFeed, name: String, wsi: OpaquePointer, now: Moment) {
    self.feed = feed
    self.name = name
    unsafe self.wsi = wsi
    unsafe pump = SocketPump(Reader(name: name), to: wsi, as: LWS_WRITE_BINARY, now: now)
    pump.reader.overflowed = { [weak self] in self?.cut(.slow("too many messages wait for it")) }
    pump.reader.isHeld = feed.isHeld
    for message in feed.preface { say(message) }
    feed.source.join(pump.reader, now: now)
  }

  /// Heartbeats and deadlines.
  func tick(now: Moment) {
    if pump.isStuck(now: now) {
      cut(.slow("took nothing for 2 s"))
    } else if acknowledgements.isSilent(sent: pump.lastSent, now: now), !pump.reader.isHeld {
      close(.slow("shows nothing"), LWS_CLOSE_STATUS_POLICY_VIOLATION, "no acknowledgement for 4 s")
    } else if !feed.preface.isEmpty, now - pump.lastSent >= WireLimits.heartbeatInterval {
      say(.heartbeat(time: UInt64(MonotonicClock.now()), echo: 0))
    }
  }

  /// The socket takes bytes. Returns false to close it.
  func write() -> Bool {
    guard pump.write() else { return false }
    // Not from here: a close in answer to this call passes for a broken socket, and says nothing.
    if farewell != nil, !pump.isBlocked { unsafe lws_set_timer_usecs(wsi, 1) }
    return true
  }

  /// The time to close has come; lws closes next.
  func sayFarewell() {
    guard let farewell else { return }
    var text = Array(farewell.text.utf8)
    unsafe lws_close_reason(wsi, farewell.code, &text, text.count)
  }

  /// Bytes of a message from the browser. Returns false to close.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let bytes = unsafe Array(bytes)
    var position = 0
    do {
      while position < bytes.count {
        var consumed = 0
        let raw = try decoder.take(bytes.span.extracting(position...), consumed: &consumed)
        position += consumed
        if let raw { try take(Message(raw)) }
      }
      return true
    } catch {
      refuse("\(error)")
      return false
    }
  }

  /// Lets what waits go out, then closes: the relay ends.
  func finish() {
    close(.left, LWS_CLOSE_STATUS_GOINGAWAY, "the relay ends")
  }

  /// lws has closed it.
  func gone() { end(.left) }

  private func take(_ message: Message) throws(WireError) {
    let now = Moment.now
    switch message {
    case .keyframeRequest(let stream): feed.wantsKeyframe(stream)
    case .heartbeat(let time, _):
      say(.heartbeat(time: UInt64(MonotonicClock.now()), echo: time))
    case .acknowledgement(let pictures): acknowledgements.heard(pictures, now: now)
    case .pause:
      pump.reader.isHeld = true
    case .resume:
      acknowledgements.restart(now: now)
      pump.reader.isHeld = false
    case .finished: finish()
    default: throw .invalid("\(message.kind) from a viewer")
    }
  }

  private func say(_ message: Message) {
    pump.reader.put(
      Packet(kind: .message, pts: 0, bytes: SharedBytes(message.encoded())), now: .now)
  }

  private func refuse(_ text: String) {
    var bytes = Array(text.utf8.prefix(120))
    unsafe lws_close_reason(wsi, LWS_CLOSE_STATUS_PROTOCOL_ERR, &bytes, bytes.count)
    end(.refused(text))
  }

  /// Closes in order, behind what waits.
  private func close(_ reason: ConsumerEnd, _ code: lws_close_status, _ text: String) {
    guard farewell == nil else { return }
    farewell = (code, text)
    feed.source.leave(pump.reader)
    pump.want()
    end(reason)
  }

  /// Closes without a word: the socket takes none.
  private func cut(_ reason: ConsumerEnd) {
    unsafe lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
    end(reason)
    pump.stop()
  }

  private func end(_ reason: ConsumerEnd) {
    feed.source.leave(pump.reader)
    ended?(reason)
    ended = nil
  }

  deinit { pump.stop() }
}
