import Wire

/// Whether the other side of a link lives, and whether it can know that we do. Heartbeats alone
/// tell: a still screen brings no packets, and is no reason to give an agent up.
struct LinkPulse {
  enum Verdict: Equatable {
    case alive
    /// Silent for `WireLimits.stalledAfter`: something is wrong.
    case stalled
    /// Silent for `WireLimits.silentAfter`: given up.
    case silent
  }

  private var lastHeard: Moment
  private var lastSaid: Moment

  init(now: Moment) {
    lastHeard = now
    lastSaid = now
  }

  mutating func heard(now: Moment) { lastHeard = now }

  mutating func said(now: Moment) { lastSaid = now }

  func verdict(now: Moment) -> Verdict {
    let silence = now - lastHeard
    if silence >= WireLimits.silentAfter { return .silent }
    return silence >= WireLimits.stalledAfter ? .stalled : .alive
  }

  /// Whether a heartbeat must be sent, since nothing else was.
  func owesHeartbeat(now: Moment) -> Bool { now - lastSaid >= WireLimits.heartbeatInterval }
}
