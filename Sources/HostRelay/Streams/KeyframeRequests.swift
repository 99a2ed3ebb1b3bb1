/// Joins what many readers ask for into few requests: the first passes at once, the next ones wait
/// until the interval is over, and a keyframe that comes meanwhile serves them all.
struct KeyframeRequests {
  /// Why a keyframe was asked for; counted in the status.
  enum Reason: String, CaseIterable {
    case join
    case behind
    case consumer
    case control
    case push
    case resume
  }

  private(set) var counts: [Reason: Int] = [:]
  private(set) var passed = 0
  private var lastPassed: Moment?
  private var isWaiting = false
  /// Passed, and not come yet.
  private var isOutstanding = false

  /// Notes one wish. Whether it passes is said by `pass`. One that `isServed` with an older keyframe
  /// wants a new one now or not at all.
  mutating func ask(_ reason: Reason, isServed: Bool = false, now: Moment) {
    counts[reason, default: 0] += 1
    if !isServed || mayPass(now: now) { isWaiting = true }
  }

  /// Whether a request goes to the agent now; true at most once an interval.
  mutating func pass(now: Moment) -> Bool {
    guard isWaiting, mayPass(now: now) else { return false }
    isWaiting = false
    isOutstanding = true
    lastPassed = now
    passed += 1
    return true
  }

  /// Whether a keyframe that was asked for is to be expected within `joinerPatience`.
  func isExpected(now: Moment) -> Bool {
    guard isOutstanding, let lastPassed else { return false }
    return now - lastPassed < RelayLimits.joinerPatience
  }

  /// A keyframe came: nobody waits any more.
  mutating func satisfied() {
    isWaiting = false
    isOutstanding = false
  }

  /// A new link: what was asked of the old one is void, and the first request passes at once.
  mutating func restart() {
    satisfied()
    lastPassed = nil
  }

  private func mayPass(now: Moment) -> Bool {
    guard let lastPassed else { return true }
    return now - lastPassed >= RelayLimits.keyframeRequestInterval
  }
}
