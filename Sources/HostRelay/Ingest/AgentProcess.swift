import Glibc
import Posix
import Report

/// An agent that this relay started. It lives in a session of its own and survives the relay.
final class AgentProcess {
  private let words: [String]
  private let loop: EventLoop
  private let patience: LoopTimer
  private var child: ChildProcess?

  /// What the next start says behind the command.
  var moreWords: [String] = []
  /// Called when it is gone.
  var ended: ((ChildEnd, _ pid: Int32) -> Void)?

  private static let retryVariable = "PORTHOLE_RETRY"

  /// How long an agent that was asked to finish may take, and then one that was told by SIGTERM.
  private static let finishTime = Duration.seconds(2)
  private static let terminateTime = Duration.seconds(1)

  /// `words`: the program and its arguments.
  init(_ words: [String], loop: EventLoop) throws(UVError) {
    self.words = words
    self.loop = loop
    patience = try LoopTimer(on: loop)
  }

  /// What is started.
  var program: String { words[0] }
  var isRunning: Bool { child != nil }
  var pid: Int32? { child?.pid }

  /// `isRetry`: the one before it missed something that has been said; then it is silent until it has a
  /// picture, or another end.
  func start(isRetry: Bool) throws(UVError) {
    precondition(child == nil, "one agent at a time")
    if isRetry { unsafe setenv(Self.retryVariable, "1", 1) }
    defer { unsafe unsetenv(Self.retryVariable) }
    child = try ChildProcess(words + moreWords, on: loop) { [weak self] end in
      guard let self, let pid = self.child?.pid else { return }
      self.child = nil
      self.patience.stop()
      self.ended?(end, pid)
    }
  }

  /// Sees to it that an agent that was told to finish does, and one that could not be told: by SIGTERM, in
  /// the end by SIGKILL.
  func expectEnd(isTold: Bool) {
    guard let child else { return }
    if !isTold { child.send(SIGTERM) }
    patience.start(after: Self.finishTime) { [weak self] in
      guard let self else { return }
      self.signal(SIGTERM)
      self.patience.start(after: Self.terminateTime) { [weak self] in self?.signal(SIGKILL) }
    }
  }

  /// Lets go of the timer; a child that still runs is left alone.
  func close() {
    patience.close()
    child?.close()
    child = nil
  }

  private func signal(_ number: Int32) {
    guard let child else { return }
    Log.note("agent \(child.pid) does not end: signal \(number)")
    child.send(number)
  }
}
