/// How the executables end; the table of `docs/architecture.md`.
package enum ExitCode: Int32, CaseIterable, Sendable {
  /// Finished, also by the user who took the permission back.
  case finished = 0
  case usage = 64
  /// A needed service is missing or went away, or no relay came within the hold time.
  case unavailable = 69
  case bug = 70
  /// Try again: the port is in use.
  case temporary = 75
  /// The portal said no, or the token is wrong.
  case notAllowed = 77
  case memoryLimit = 86
}
