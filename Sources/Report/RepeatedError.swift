internal import Posix

/// Counts an error that may come many times a second and reports it at most once a second, with the
/// count and the last cause. For one thread.
package struct RepeatedError {
  private let what: String
  private var count = 0
  private var lastReport: Int64 = .min

  package init(_ what: String) { self.what = what }

  /// Counts one; the line to log, if it is time for one. `now` in nanoseconds.
  package mutating func record(_ cause: String, now: Int64 = MonotonicClock.now()) -> String? {
    count += 1
    guard lastReport == .min || now - lastReport >= 1_000_000_000 else { return nil }
    lastReport = now
    defer { count = 0 }
    return count == 1 ? "\(what): \(cause)" : "\(what): \(count) times, last: \(cause)"
  }
}
