import Synchronization
import Wire

/// What the loop wants of the encoder's thread, changed by the one and read by the other.
final class EncoderOrders: Sendable {
  struct Current {
    /// Counts links and the ends of pauses, each of which begins with a description; nil while there is no
    /// link, and then nothing is encoded.
    var link: Int?
    var isPaused = false
    /// Bits a second; nil leaves what suits the size.
    var bitrate: Int?
    /// Whether somebody reads a container: demuxers hold pictures back, so a still screen is sent
    /// again once a second.
    var hasContainers = false
    /// What is given up for want of memory.
    var memory = MemoryStep.rest
    var isEnding = false
  }

  let keyframes = KeyframeRequests()
  private let current = Mutex(Current())
  private let changed: @Sendable () -> Void

  /// `changed` wakes the encoder's thread.
  init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

  /// As they are now. Any thread.
  func read() -> Current { current.withLock { $0 } }

  /// Changes some of them at once, and wakes the encoder's thread. Any thread; `body` runs under the lock.
  func change(_ body: @Sendable (inout Current) -> Void) {
    current.withLock { body(&$0) }
    changed()
  }

  /// The next picture is a keyframe; a still screen sends its last one again. Any thread.
  func requestKeyframe() {
    keyframes.request()
    changed()
  }
}
