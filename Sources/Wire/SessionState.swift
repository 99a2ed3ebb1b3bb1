/// The states of a broadcast, owned by the relay; what a consumer reads in a session state message.
package enum SessionState: UInt8, CaseIterable, Sendable {
  case waiting = 1
  case starting = 2
  case live = 3
  case paused = 4
  case interrupted = 5
  case finished = 6

  /// The word of the status and the page.
  package var word: String {
    switch self {
    case .waiting: "waiting"
    case .starting: "starting"
    case .live: "live"
    case .paused: "paused"
    case .interrupted: "interrupted"
    case .finished: "finished"
    }
  }
}
