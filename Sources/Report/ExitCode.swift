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

  /// For the manual pages.
  package var meaning: String {
    switch self {
    case .finished: "Finished, also by the user who took the permission back."
    case .usage: "Wrong usage; the line that was printed names it."
    case .unavailable: "Something needed is missing, or nobody came within the hold time."
    case .bug: "A bug."
    case .temporary: "A port is in use: try again."
    case .notAllowed: "Not allowed: the portal or its user said no, or a token or key is wrong."
    case .memoryLimit: "The agent's memory limit was met."
    }
  }
}
