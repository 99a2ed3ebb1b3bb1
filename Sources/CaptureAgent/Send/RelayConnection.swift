import Glibc
import PipeWire
import Posix
import Report
import Wire

/// One connection to 13579, from its acceptance to its end; a link once it has greeted. Loop thread
/// only.
final class RelayConnection {
  /// What happens to a connection, for whoever keeps it.
  enum Event {
    /// It greeted with the right token; the listener says what comes next.
    case greeted(Greeting)
    case message(Message)
    /// The packet is out and another one may follow.
    case packetSent
    /// It is over; the connection must be let go.
    case closed(String)
  }

  let number: Int
  private(set) var isLink = false
  private let fd: OwnedFD
  private let token: LinkToken
  private let onEvent: (RelayConnection, Event) -> Void
  private var io: IOSource?
  private var decoder = MessageDecoder(payloadLimit: WireLimits.greetingPayload)
  private var outbox = Outbox()
  private var window: FlightWindow
  private var isWaitingForWindow = false
  /// Set once what is in the outbox is the last: why.
  private var ending: String?
  private var lastReceived = MonotonicClock.now()
  private var lastSent: Int64 = 0
  private var lastHeard: UInt64 = 0
  private var input = [UInt8](repeating: 0, count: 4096)
  /// Bytes given to the link so far.
  private(set) var bytesSent = 0
  var packetsSent: Int { Int(window.sent) }
  /// Streams whose last packet of sound was lost for want of room, a bit each.
  private var lostSounds: UInt32 = 0
  /// Small messages that wait, sound among them.
  var waitingBytes: Int { outbox.waitingByteCount }
  /// What the kernel holds for the socket, both ways.
  var kernelBytes: Int { TCPSocket.memory(of: fd.raw) }
  /// Whether only one packet may be on its way.
  var isNarrow: Bool {
    get { window.isNarrow }
    set { window.isNarrow = newValue }
  }

  /// Takes over an accepted socket of this user's.
  init(
    number: Int, fd: consuming OwnedFD, token: LinkToken, framesPerSecond: Int, loop: Loop,
    onEvent: @escaping (RelayConnection, Event) -> Void
  ) throws {
    self.number = number
    self.fd = fd
    self.token = token
    self.onEvent = onEvent
    window = FlightWindow(framesPerSecond: framesPerSecond)
    try TCPSocket.tune(self.fd.raw, silence: WireLimits.silentAfter, unsent: nil)
    io = try loop.addIO(fd: self.fd.raw, for: .readable) { [weak self] in self?.ready($0) }
  }

  /// From now on this is the link.
  func becomeLink() {
    isLink = true
    decoder.payloadLimit = WireLimits.payload
  }

  /// Says why and closes once that is out; nothing follows.
  func refuse(_ code: FinishCode, _ text: String) {
    send(.refusal(code, text))
    ending = "refused: \(text)"
    flush()
  }

  /// Says that the broadcast is over and closes once that is out.
  func finish(_ code: FinishCode, _ text: String) {
    send(.finished(code, text))
    ending = "finished"
    flush()
  }

  func send(_ message: Message) {
    guard ending == nil, io != nil else { return }
    guard outbox.put(message) else { return close("the relay reads nothing") }
    flush()
  }

  /// Sends a packet and its description. One at a time: `packetSent` says when the next may come.
  func send(_ packet: OutgoingPacket, stream: UInt32) {
    guard ending == nil, io != nil else { return }
    if let description = packet.description {
      _ = outbox.put(.streamDescription(stream: stream, description))
    }
    outbox.put(packet, stream: stream)
    window.packetWent(at: MonotonicClock.now())
    bytesSent += MessageHeader.byteCount + packet.unit.byteCount
    isWaitingForWindow = true
    flush()
  }

  /// Sends a packet of sound beside the pictures; a relay that does not read loses it.
  func send(sound: Span<UInt8>, pts: Int64, flags: MessageFlags, stream: UInt32) {
    guard ending == nil, io != nil else { return }
    let bit = UInt32(1) << stream
    var flags = flags
    if lostSounds & bit != 0 { flags.insert(.discontinuity) }
    guard outbox.put(sound: sound, pts: pts, flags: flags, stream: stream) else {
      lostSounds |= bit
      return
    }
    lostSounds &= ~bit
    bytesSent += MessageHeader.byteCount + sound.count
    flush()
  }

  /// Once a second: a heartbeat where nothing was sent, and the end of a silent peer.
  func tick(now: Int64) {
    let silence = now - lastReceived
    if !isLink {
      if silence >= WireLimits.greetingTime.nanoseconds {
        close("no greeting in \(WireLimits.greetingTime)")
      }
    } else if silence >= WireLimits.silentAfter.nanoseconds {
      close("silent for \(WireLimits.silentAfter)")
    } else if now - lastSent >= WireLimits.heartbeatInterval.nanoseconds {
      send(.heartbeat(time: UInt64(now), echo: lastHeard))
    }
  }

  private func ready(_ events: IOEvents) {
    if events.contains(.readable) || events.contains(.hangUp) || events.contains(.error) { read() }
    if io != nil, events.contains(.writable) { flush() }
  }

  private func read() {
    let count = unsafe input.withUnsafeMutableBytes {
      unsafe recv(fd.raw, $0.baseAddress, $0.count, 0)
    }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else {
      return close(count == 0 ? "closed by the relay" : "\(PosixError("recv"))")
    }
    if isLink { lastReceived = MonotonicClock.now() }
    guard ending == nil else { return }  // What a refused peer still says is read away.
    do throws(WireError) {
      let received = input  // Shared, not copied: it goes before the next read.
      var at = 0
      while at < count, io != nil, ending == nil {
        var consumed = 0
        let piece = received.span.extracting(at..<count)
        guard let raw = try decoder.take(piece, consumed: &consumed) else { break }
        at += consumed
        try handle(Message(raw))
      }
    } catch {
      switch error {
      case .otherVersion: refuse(.otherVersion, "\(error)")
      default: refuse(.protocolError, "\(error)")
      }
    }
  }

  private func handle(_ message: Message) throws(WireError) {
    switch message {
    case .greeting(let greeting) where !isLink:
      guard greeting.role == .relay else { return refuse(.wrongUse, "this port is the relay's") }
      guard token.matches(greeting.key) else {
        return refuse(.notAllowed, "wrong token: \(LinkToken.remedy)")
      }
      onEvent(self, .greeted(greeting))
    case _ where !isLink: throw .invalid("message before the greeting")
    case .heartbeat(let time, _): lastHeard = time
    case .acknowledgement(let packets):
      guard window.acknowledge(packets, at: MonotonicClock.now()) else {
        throw .invalid("acknowledgement")
      }
      checkWindow()
    case .refusal(_, let text): close("refused by the relay: \(Log.oneLine(text))")
    default: onEvent(self, .message(message))
    }
  }

  private func flush() {
    guard io != nil else { return }
    do {
      try outbox.send(to: fd.raw)
      lastSent = MonotonicClock.now()
      try io?.update(for: outbox.isEmpty ? .readable : [.readable, .writable])
    } catch {
      return close("\(error)")
    }
    if let ending, outbox.isEmpty { return close(ending) }
    checkWindow()
  }

  private func checkWindow() {
    guard isWaitingForWindow, !outbox.hasPacket, !window.isFull else { return }
    isWaitingForWindow = false
    onEvent(self, .packetSent)
  }

  /// Ends it; a second call does nothing.
  private func close(_ cause: String) {
    guard let io else { return }
    io.remove()
    self.io = nil
    outbox.dropPacket()
    shutdown(fd.raw, Int32(SHUT_RDWR))
    onEvent(self, .closed(cause))
  }
}
