/// Where frames come from; everything on the loop's thread, but the frames it puts in the slot.
protocol ScreenSource: AnyObject {
  /// Whether the source was started and has not ended. A still screen is alive without a frame.
  var isAlive: Bool { get }

  /// Begins; what goes wrong, now or later, comes as `.ended`.
  func start()

  /// Gives up everything it holds, in the order its makers need; no event comes after it.
  func stop()
}

/// What a source tells, on the loop's thread.
enum SourceEvent: Sendable {
  /// The size of the frames that follow.
  case format(width: Int, height: Int)
  /// No frame follows.
  case ended(SourceEnd)
}

/// Why a source ended.
struct SourceEnd: Error, Equatable, Sendable {
  enum Cause: Sendable {
    /// The screen went away, or its user took the permission back.
    case finished
    /// A service that the source needs is not there.
    case serviceMissing
    /// The user or the desktop said no.
    case notAllowed
    /// A service answered as none should.
    case failed
  }

  let cause: Cause
  /// One line: what happened, and what to do where something can be done.
  let text: String

  /// The process's exit code for it, by the table in docs/architecture.md.
  var exitCode: Int32 {
    switch cause {
    case .finished: 0
    case .serviceMissing: 69
    case .failed: 70
    case .notAllowed: 77
    }
  }
}
