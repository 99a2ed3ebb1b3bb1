import PipeWire
import Synchronization

/// Carries the encoder thread's failure to the loop.
final class FailureBox: Sendable {
  private let failure = Mutex<SourceEnd?>(nil)
  private let signal = Mutex<EventSource?>(nil)

  /// What is signalled on a post; set before the thread starts.
  var event: EventSource? {
    get { signal.withLock { $0 } }
    set { signal.withLock { $0 = newValue } }
  }

  /// Any thread.
  func post(_ end: SourceEnd) {
    failure.withLock { $0 = end }
    event?.signal()
  }

  /// On the loop.
  func take() -> SourceEnd? {
    failure.withLock { failure in
      defer { failure = nil }
      return failure
    }
  }
}
