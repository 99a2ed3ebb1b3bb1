import Synchronization

/// Requests for a keyframe from any thread; however many come before the next picture, they are
/// answered by one.
final class KeyframeRequests: Sendable {
  private let pending = Atomic(false)

  /// The next picture is to be a keyframe.
  func request() { pending.store(true, ordering: .releasing) }

  /// Whether `take` would say so.
  var isPending: Bool { pending.load(ordering: .acquiring) }

  /// Whether one was asked for since the last call. By the encoder's thread, before each picture.
  func take() -> Bool { pending.exchange(false, ordering: .acquiring) }
}
