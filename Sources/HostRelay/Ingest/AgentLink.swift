import CUV
import Glibc
import Posix
import Wire

/// Why a link ended.
enum LinkEnd: Equatable, CustomStringConvertible {
  /// Nobody listens there.
  case nobody
  /// The other side, or we, would not have this link.
  case refused(FinishCode, String)
  /// The agent finished the broadcast, then closed.
  case finished(FinishCode, String)
  /// The agent is there and says nothing: it hangs, or the way to it is cut.
  case silent(String)
  case lost(String)

  /// Whether the agent said that all is over; otherwise another one may go on.
  var endsBroadcast: Bool {
    guard case .finished(let code, _) = self else { return false }
    switch code {
    case .finished, .revoked, .refused: return true
    default: return false
    }
  }

  var description: String {
    switch self {
    case .nobody: "nobody answers"
    case .refused(let code, let text): "refused: \(code.word): \(text)"
    case .finished(let code, let text): text.isEmpty ? code.word : "\(code.word): \(text)"
    case .silent(let text), .lost(let text): text
    }
  }
}

/// One connection to an agent, from connect to close: who it is, greeting, heartbeats, messages.
///
/// The token goes only to a listener of our own user, and nothing is believed before the agent has
/// shown that it knows it too.
final class AgentLink {
  /// Called once, when the agent is known to be one.
  var greeted: ((Greeting) -> Void)?
  var message: ((Message) -> Void)?
  /// A packet, header and payload.
  var packet: ((RawMessage) -> Void)?
  /// Called once, at the end; nothing is called after it.
  var ended: ((LinkEnd) -> Void)?

  private(set) var isGreeted = false
  private let number: Int
  private let address: SocketAddress
  private let token: LinkToken
  private let stream: TCPStream
  private var decoder = MessageDecoder(payloadLimit: WireLimits.greetingPayload)
  private let begin: Moment
  private var pulse: LinkPulse
  private var agentTime: UInt64 = 0
  private var packetCount: UInt64 = 0
  private var soundStreams: Set<UInt32> = []
  private var acknowledgedCount: UInt64 = 0
  private var finish: LinkEnd?

  /// More than this unsent means that the agent reads nothing; all we send are small messages.
  private static let unsentLimit = 1 << 20

  init(
    number: Int, to address: SocketAddress, token: LinkToken, loop: EventLoop, now: Moment
  ) throws(UVError) {
    self.number = number
    self.address = address
    self.token = token
    begin = now
    pulse = LinkPulse(now: now)
    stream = try TCPStream(on: loop)
  }

  /// Connects and greets with `greeting`, to which the token is added.
  func open(with greeting: Greeting) throws(UVError) {
    stream.received = { [weak self] in self?.take($0) }
    stream.ended = { [weak self] in self?.streamEnded($0) }
    try stream.connect(to: address) { [weak self] status in
      self?.connected(status, greeting: greeting)
    }
  }

  var name: String { "link \(number)" }

  /// Silent for so long that something is wrong, though not yet given up.
  func isStalled(now: Moment) -> Bool {
    isGreeted && pulse.verdict(now: now) != .alive
  }

  func send(_ message: Message) {
    stream.write(SharedBytes(message.encoded()))
    pulse.said(now: .now)
  }

  /// Deadlines and heartbeats.
  func tick(now: Moment) {
    if !isGreeted {
      if now - begin >= WireLimits.greetingTime { close(.silent("no greeting within 5 s")) }
      return
    }
    if pulse.verdict(now: now) == .silent {
      close(.silent("silent for 5 s"))
    } else if stream.queuedBytes > Self.unsentLimit {
      close(.lost("takes no messages"))
    } else if pulse.owesHeartbeat(now: now) {
      send(.heartbeat(time: UInt64(MonotonicClock.now()), echo: agentTime))
    }
  }

  func close(_ end: LinkEnd) {
    guard let ended else { return }
    forget()
    stream.close()
    ended(end)
  }

  private func forget() {
    greeted = nil
    message = nil
    packet = nil
    ended = nil
  }

  private func connected(_ status: Int32, greeting: Greeting) {
    guard status == 0 else {
      let isNobody = status == UV_ECONNREFUSED.rawValue
      return close(isNobody ? .nobody : .lost("connect: \(uvErrorText(status))"))
    }
    do {
      // An agent that ends takes its port along, be it between two calls of ours.
      guard let owner = try PeerIdentity.uid(ofListenerOn: address) else { return close(.nobody) }
      guard owner == getuid() else {
        return close(.refused(.notAllowed, "port \(address.port) belongs to another user"))
      }
      try TCPSocket.tune(stream.descriptor, silence: WireLimits.silentAfter, unsent: nil)
    } catch {
      return close(.lost("\(error)"))
    }
    var greeting = greeting
    greeting.key = token.bytes
    send(.greeting(greeting))
    stream.startReading()
  }

  private func streamEnded(_ end: StreamEnd) {
    close(finish ?? .lost("\(end)"))
  }

  private func take(_ bytes: Span<UInt8>) {
    pulse.heard(now: .now)
    var position = 0
    while position < bytes.count, ended != nil {
      do {
        var consumed = 0
        let raw = try decoder.take(bytes.extracting(position...), consumed: &consumed)
        position += consumed
        if let raw { try take(raw) }
      } catch {
        close(.lost("\(error)"))
      }
    }
    if packetCount != acknowledgedCount, ended != nil {
      acknowledgedCount = packetCount
      send(.acknowledgement(packets: packetCount))
    }
  }

  private func take(_ raw: RawMessage) throws(WireError) {
    guard isGreeted else { return try takeGreeting(raw) }
    if raw.header.kind == .packet {
      // Sound takes no place among the pictures that are on their way.
      if !soundStreams.contains(raw.header.stream) { packetCount += 1 }
      packet?(raw)
      return
    }
    let message = try Message(raw)
    if case .streamDescription(let number, let description) = message, description.codec == .opus {
      soundStreams.insert(number)
    }
    switch message {
    case .heartbeat(let time, _): agentTime = time
    case .finished(let code, let text): finish = .finished(code, text)
    case .refusal(let code, let text): close(.refused(code, text))
    case let message: self.message?(message)
    }
  }

  private func takeGreeting(_ raw: RawMessage) throws(WireError) {
    switch try Message(raw) {
    case .refusal(let code, let text): close(.refused(code, text))
    case .greeting(let greeting):
      guard greeting.role == .agent, token.matches(greeting.key) else {
        return close(
          .refused(.notAllowed, "the agent does not know the token: \(LinkToken.remedy)"))
      }
      isGreeted = true
      decoder.payloadLimit = WireLimits.payload
      greeted?(greeting)
    case let message: throw .invalid("message before the greeting: \(message.kind)")
    }
  }
}
