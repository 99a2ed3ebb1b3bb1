import Synchronization

/// Requests for a keyframe from any thread; however many come before the next picture, they are
/// answered by one.
final class KeyframeRequests: Sendable {
  private let isPending = Atomic(false)

  func request() { isPending.store(true, ordering: .releasing) }

  /// Whether one was asked for since the last call. By the encoder's thread, before each picture.
  func take() -> Bool { isPending.exchange(false, ordering: .acquiring) }
}
