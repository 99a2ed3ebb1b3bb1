/// How long to wait before the next try: 0, 0.25, 0.5, 1, 2, 2 … seconds, each ±20 % so that many
/// who lost the same peer do not come back in step.
struct Backoff {
  private static let steps: [Duration] = [
    .zero, .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2),
  ]
  private var step = 0

  /// The delay before the next try. `jitter` is between -1 and 1.
  mutating func next(jitter: Double = .random(in: -1...1)) -> Duration {
    defer { step = min(step + 1, Self.steps.count - 1) }
    return Self.steps[step] * (1 + 0.2 * jitter)
  }

  /// Begins from 0 again.
  mutating func reset() { step = 0 }
}

/// Tells a crash loop: five deaths within ten seconds.
struct CrashWatch {
  private static let deaths = 5
  private static let span = Duration.seconds(10)
  /// Between two starts while in a crash loop.
  static let delay = Duration.seconds(2)
  private var times: [Moment] = []

  mutating func died(now: Moment) {
    times.append(now)
    times.removeFirst(max(0, times.count - Self.deaths))
  }

  func isLooping(now: Moment) -> Bool {
    guard times.count == Self.deaths, let first = times.first else { return false }
    return now - first <= Self.span
  }
}
