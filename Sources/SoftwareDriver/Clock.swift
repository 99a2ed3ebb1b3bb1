internal import Glibc

/// The monotonic clock, in nanoseconds.
func steadyNanoseconds() -> UInt64 {
  var now = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

/// Sleeps until `time` of the steady clock.
func sleep(until time: UInt64) {
  var until = timespec(
    tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
  while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nil) == EINTR {}
}
