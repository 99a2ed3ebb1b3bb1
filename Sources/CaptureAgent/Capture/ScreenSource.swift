import Report

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
  /// What the process exits with for it.
  let code: ExitCode
  /// One line: what happened, and what to do where something can be done.
  let text: String
}
