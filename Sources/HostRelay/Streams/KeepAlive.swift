/// Says when an output that has nothing new must be given something all the same, so that no idle
/// timer behind it fires: each `keepAliveInterval` after the last word.
struct KeepAlive {
  private var last: Moment?

  /// Something went out.
  mutating func spoke(now: Moment) { last = now }

  /// Whether it is time; true at most once an interval.
  mutating func isDue(now: Moment) -> Bool {
    if let last, now - last < RelayLimits.keepAliveInterval { return false }
    last = now
    return true
  }
}
