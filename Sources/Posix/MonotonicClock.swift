internal import Glibc

/// Nanoseconds of the clocks that PTS and deadlines are in.
package enum MonotonicClock {
  /// CLOCK_MONOTONIC: PipeWire's clock.
  package static func now() -> Int64 { read(CLOCK_MONOTONIC) }

  /// CLOCK_BOOTTIME: goes on while the machine sleeps; tells one process from the next.
  package static func sinceBoot() -> Int64 { read(CLOCK_BOOTTIME) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension Duration {
  /// Whole nanoseconds, clamped to what 64 bits hold (292 years).
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? (seconds < 0 ? .min : .max) : scaled + attoseconds / 1_000_000_000
  }
}
