/// Sees whether a browser still shows what it is sent: its socket takes bytes for as long as the
/// browser has memory, so only the page itself can tell (docs/relay.md).
struct AcknowledgementWatch {
  private var acknowledged: UInt64 = 0
  private var last: Moment?

  /// The page has shown so many pictures since it came.
  mutating func heard(_ pictures: UInt64, now: Moment) {
    acknowledged = max(acknowledged, pictures)
    last = now
  }

  /// It looks away, or is back: what it owes begins anew.
  mutating func restart(now: Moment) {
    if last != nil { last = now }
  }

  /// Whether one that has spoken once, and was sent something since, has said nothing for too long.
  func isSilent(sent: Moment, now: Moment) -> Bool {
    guard let last else { return false }
    return sent > last && now - last >= RelayLimits.acknowledgedWithin
  }
}
