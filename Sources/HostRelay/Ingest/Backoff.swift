/// How long to wait before the next try: 0, 0.25, 0.5, 1, 2, 2 … seconds for an agent, each ±20 % so
/// that many who lost the same peer do not come back in step.
struct Backoff {
  private let delays: [Duration]
  private var step = 0

  /// `delays`: the last of them for ever.
  init(_ delays: [Duration] = RelayLimits.retryDelays) { self.delays = delays }

  /// The delay before the next try. `jitter` is between -1 and 1.
  mutating func next(jitter: Double = .random(in: -1...1)) -> Duration {
    defer { step = min(step + 1, delays.count - 1) }
    return delays[step] * (1 + RelayLimits.retryJitter * jitter)
  }

  /// Where a try at once, or nearly so, is of no use.
  mutating func skipHaste() { step = max(step, 2) }

  /// Begins from 0 again.
  mutating func reset() { step = 0 }
}

/// Tells a crash loop: five deaths within ten seconds.
struct CrashWatch {
  private var times: [Moment] = []

  mutating func died(now: Moment) {
    times.append(now)
    times.removeFirst(max(0, times.count - RelayLimits.crashLoopDeaths))
  }

  func isLooping(now: Moment) -> Bool {
    guard times.count == RelayLimits.crashLoopDeaths, let first = times.first else { return false }
    return now - first <= RelayLimits.crashLoopSpan
  }
}
