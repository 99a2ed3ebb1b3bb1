internal import CLinux
internal import Glibc

/// How a systemd unit's main process ended, by the variables that its `ExecStopPost=` command gets.
package struct ServiceEnd: Equatable, Sendable {
  /// The result that means a kill by the unit's own memory limit.
  package static let outOfMemory = "oom-kill"

  /// The exit code, or 128 and the signal's number, as a shell has it.
  package let code: Int32
  /// systemd's word, where it says more than the code: `oom-kill`, `timeout`, `watchdog`.
  package let text: String

  /// nil where the variables are not there: no service has ended.
  package init?(variable: (String) -> String?) {
    guard let how = variable("EXIT_CODE"), let status = variable("EXIT_STATUS") else { return nil }
    if how == "exited" {
      guard let number = Int32(status) else { return nil }
      code = number
    } else {
      guard let number = Self.signal(named: status) else { return nil }
      code = 128 + number
    }
    let result = variable("SERVICE_RESULT") ?? ""
    text = ["success", "exit-code", "signal", "core-dump"].contains(result) ? "" : result
  }

  /// From `KILL`, or from a number where the signal has no name.
  private static func signal(named name: String) -> Int32? {
    if let number = Int32(name) { return number }
    return (1...64).first { number in
      unsafe sigabbrev_np(number).map { unsafe String(cString: $0) } == name
    }
  }
}
