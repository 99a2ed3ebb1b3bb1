import PipeWire
import Synchronization

/// Carries a failure from the encoder's thread to the loop; a later one replaces one that was not taken.
final class FailureBox<Failure: Sendable>: Sendable {
  private let failure = Mutex<Failure?>(nil)
  private let signal = Mutex<EventSource?>(nil)

  /// What is signalled on a post; set before the thread starts.
  var event: EventSource? {
    get { signal.withLock { $0 } }
    set { signal.withLock { $0 = newValue } }
  }

  /// Any thread.
  func post(_ new: Failure) {
    failure.withLock { $0 = new }
    event?.signal()
  }

  /// On the loop.
  func take() -> Failure? {
    failure.withLock { failure in
      defer { failure = nil }
      return failure
    }
  }
}
