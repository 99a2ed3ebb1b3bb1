internal import Glibc

/// Which signals wait until somebody takes them.
package enum SignalMask {
  /// Has these wait, and no others: a parent that blocks signals must not make a process that cannot be
  /// ended. Threads and children made from now on are alike; first thing.
  package static func hold(_ signals: [Int32]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_SETMASK, &set, nil)
  }
}
