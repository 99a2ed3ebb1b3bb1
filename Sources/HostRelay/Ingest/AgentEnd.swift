import Glibc
import Posix
import Report
import Wire

/// How an agent died, in words, and whether another may be started.
struct AgentEnd: Equatable {
  private(set) var words: String
  /// The words without what the agent itself has said of it, for a log that has its lines too.
  private(set) var briefWords: String
  /// Why it finished, or else the words: what is said beside `code`.
  private(set) var reason: String
  /// The exit code that makes an end final; nil where another agent may come.
  let finalCode: ExitCode?
  private(set) var code: FinishCode

  /// Gone, and nobody here can say how: another parent's agent that left no last words.
  static let silent = AgentEnd(words: "ended without last words", finalCode: nil, code: .failed)

  /// Stopped, or caught in a call that never returns: the relay killed it.
  static let hung = AgentEnd(words: "hung, and was killed", finalCode: nil, code: .failed)

  /// Killed by the kernel for what its control group holds.
  static let fenced = AgentEnd(
    words: "ended by the memory limit of its control group (SIGKILL)", finalCode: nil,
    code: .memory)

  /// No agent at all: somebody else listens where it would.
  static func taken(_ address: SocketAddress, _ end: LinkEnd) -> AgentEnd {
    AgentEnd(
      words:
        "port \(address.port) is in use (\(end)): end what holds it, or choose another by --agent"
        + " and the agent's --listen",
      finalCode: .temporary, code: .unavailable)
  }

  private init(words: String, finalCode: ExitCode?, code: FinishCode) {
    self.words = words
    briefWords = words
    reason = words
    self.finalCode = finalCode
    self.code = code
  }

  /// From the exit status that its parent sees, and what it said of it, if anything.
  init(_ end: ChildEnd, text: String) {
    let code = end.signal == 0 ? end.code : Self.shellBase + end.signal
    self.init(exitCode: code, text: end.signal == 0 ? text : "")
  }

  /// From an exit code alone: of a child, or of a record that another parent's agent left.
  init(exitCode: Int32, text: String) {
    let known = ExitCode(rawValue: exitCode)
    switch known {
    case .finished, .usage, .notAllowed: finalCode = known
    default: finalCode = nil
    }
    switch known {
    case .finished: code = .finished
    case .usage: code = .wrongUse
    case .unavailable: code = .unavailable
    case .notAllowed: code = .refused
    case .memoryLimit: code = .memory
    case .bug, .temporary, nil: code = .failed
    }
    briefWords = Self.words(forExit: exitCode)
    words = text.isEmpty ? briefWords : "\(briefWords): \(text)"
    reason = known == .finished ? text : words
  }

  /// The same end as the agent told it over its link, which says more than an exit code.
  func told(_ code: FinishCode, _ text: String) -> AgentEnd {
    var end = self
    end.code = code
    end.reason = text
    return end
  }

  /// The same once more, as one of many.
  var repeated: AgentEnd {
    var end = self
    end.words = "crash loop: \(words)"
    return end
  }

  /// The exit code that stands for SIGKILL.
  static let killed = shellBase + SIGKILL

  /// What a shell, and systemd, report for a signal is this much more than its number.
  private static let shellBase: Int32 = 128
  private static let lastSignal: Int32 = 64

  private static func words(forExit code: Int32) -> String {
    switch ExitCode(rawValue: code) {
    case .finished: "finished"
    case .usage: "wrong usage (exit 64)"
    case .unavailable: "something it needs is missing (exit 69)"
    case .bug: "ended by a bug (exit 70)"
    case .temporary: "its port is in use (exit 75)"
    case .notAllowed: "not allowed (exit 77)"
    case .memoryLimit: "ended by its memory limit (exit 86)"
    case nil where code > shellBase && code <= shellBase + lastSignal:
      "killed by \(name(ofSignal: code - shellBase))"
    case nil: "exit code \(code)"
    }
  }

  private static func name(ofSignal number: Int32) -> String {
    switch number {
    case SIGABRT: "SIGABRT (it gave up)"
    case SIGKILL: "SIGKILL"
    case SIGSEGV: "SIGSEGV (a bad address)"
    case SIGBUS: "SIGBUS (a bad address)"
    case SIGILL: "SIGILL (a broken promise)"
    case SIGTRAP: "SIGTRAP (a broken promise)"
    case SIGFPE: "SIGFPE"
    case SIGTERM: "SIGTERM"
    case SIGINT: "SIGINT"
    case SIGHUP: "SIGHUP"
    case SIGPIPE: "SIGPIPE"
    case SIGXCPU: "SIGXCPU (its time limit)"
    case SIGXFSZ: "SIGXFSZ (its file limit)"
    default: "signal \(number)"
    }
  }
}
