internal import Glibc
internal import Posix

/// What the service manager that started this process is told: sd_notify(3)'s protocol, one datagram
/// each time. Without a service manager nothing is said. For one thread.
package final class ServiceNotices {
  /// `alive()` has to be called at least this often; nil where nobody waits for it.
  package let watchdogInterval: Duration?

  private let socket: DatagramSocket?
  private var lastStatus = ""

  /// Takes the variables out of the environment: they are not meant for children. Call it before
  /// another thread is made.
  package init() {
    socket = Environment.take("NOTIFY_SOCKET").flatMap { DatagramSocket(to: $0) }
    let period = Environment.take("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    let isWatched = Environment.take("WATCHDOG_PID").map { pid_t($0) == getpid() } ?? true
    // Half of the time after which it would be taken for dead, as sd_watchdog_enabled(3) advises.
    watchdogInterval =
      socket != nil && isWatched && period > 0 ? .microseconds(period / 2) : nil
  }

  /// The start is done: who waits for this unit may go on.
  package func ready() { send("READY=1") }

  /// The end has begun.
  package func stopping() { send("STOPPING=1") }

  /// What `systemctl status` shows; said when it is new.
  package func status(_ text: String) {
    guard socket != nil, text != lastStatus else { return }
    lastStatus = text
    send("STATUS=\(Log.oneLine(text))")
  }

  /// The loop still turns.
  package func alive() {
    if watchdogInterval != nil { send("WATCHDOG=1") }
  }

  private func send(_ words: String) { socket?.send(Array(words.utf8)) }
}
