/// What a message is. The number goes on the wire; zero is none, and none is the start of a word
/// of HTTP or TLS.
package enum MessageKind: UInt32, CaseIterable, Sendable {
  // Both ways.
  case greeting = 1
  case refusal = 2
  case heartbeat = 3
  case finished = 4
  // Agent to relay, and relay to consumer.
  case started = 16
  case streamDescription = 17
  case packet = 18
  case paused = 19
  case resumed = 20
  // Agent to relay.
  case figures = 24
  case memoryStep = 25
  // Agent to relay, and relay to consumer.
  case sourceState = 26
  // Relay to consumer.
  case sessionState = 32
  // Relay to agent; a consumer may send the first.
  case keyframeRequest = 48
  case pause = 49
  case resume = 50
  case finish = 51
  case bitrate = 52
  case sound = 53
  case acknowledgement = 54
  case audience = 55
}
