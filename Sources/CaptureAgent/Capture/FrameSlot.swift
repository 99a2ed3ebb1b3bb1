import Glibc
import PipeWire
import Posix
import Synchronization

/// Holds the newest frame, and the newest pointer where its source does not draw it, between the loop,
/// which puts, and the encoder's thread, which takes.
///
/// Unchecked: `frame`, `putTime`, `isWoken`, `cursor` and `isCursorNew` are guarded by `lock`.
@safe
final class FrameSlot: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var frame: Frame?
  /// Of the frame that is there.
  private var putTime: Int64 = 0
  private var isWoken = false
  private var cursor: Cursor?
  private var isCursorNew = false
  private let replaced = Atomic(0)
  private let decoded = Atomic(0)
  private let refused = Atomic(0)

  /// Frames that nobody took before a newer one came.
  var replacedCount: Int { replaced.load(ordering: .relaxed) }

  /// What became of frames that were taken as JPEGs: samples, or nothing.
  var decoding: (decoded: Int, refused: Int) {
    (decoded.load(ordering: .relaxed), refused.load(ordering: .relaxed))
  }

  /// The taker has decoded one, or could not.
  func count(decoded isDecoded: Bool) {
    if isDecoded { decoded.add(1, ordering: .relaxed) } else { refused.add(1, ordering: .relaxed) }
  }

  init() {
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(change, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    unsafe pthread_mutex_init(lock, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(change)
    unsafe pthread_mutex_destroy(lock)
    unsafe change.deallocate()
    unsafe lock.deallocate()
  }

  /// Puts a frame in the place of the one there, whose damage it takes over.
  func put(_ newest: consuming Frame) {
    let now = MonotonicClock.now()
    unsafe pthread_mutex_lock(lock)
    putTime = now
    let old = frame.take()
    if let old {
      replaced.add(1, ordering: .relaxed)
      if let damage = newest.damage { newest.damage = old.damage.map(damage.union) }
    }
    frame = consume newest
    unsafe pthread_cond_signal(change)
    unsafe pthread_mutex_unlock(lock)
  }

  /// The pointer is there from now on; nil: nowhere. One that comes without a frame wakes the taker.
  func put(_ newest: Cursor?, isAlone: Bool) {
    unsafe pthread_mutex_lock(lock)
    cursor = newest
    isCursorNew = true
    if isAlone {
      isWoken = true
      unsafe pthread_cond_signal(change)
    }
    unsafe pthread_mutex_unlock(lock)
  }

  /// Whether the pointer has changed since it was taken.
  var hasNewCursor: Bool {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return isCursorNew
  }

  /// The pointer, and whether it has changed since it was taken.
  func takeCursor() -> (Cursor?, isNew: Bool) {
    unsafe pthread_mutex_lock(lock)
    defer {
      isCursorNew = false
      unsafe pthread_mutex_unlock(lock)
    }
    return (cursor, isCursorNew)
  }

  /// Takes the frame that is there, if any.
  func take() -> Frame? {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return frame.take()
  }

  /// Waits for a frame whose turn it is; nil at the deadline, in nanoseconds of CLOCK_MONOTONIC, or when
  /// woken. One whose turn it is not, and every one where `turn` is nil, is left to be replaced by newer
  /// ones.
  func take(waitingUntil deadline: Int64, turn: FramePace.Turn? = .now) -> Frame? {
    unsafe pthread_mutex_lock(lock)
    defer {
      isWoken = false
      unsafe pthread_mutex_unlock(lock)
    }
    while true {
      var wake = deadline
      if frame != nil, let turn {
        if putTime >= turn.first || turn.last <= MonotonicClock.now() { return frame.take() }
        wake = min(wake, turn.last)
      }
      guard !isWoken, wait(until: wake) || wake < deadline else { return nil }
    }
  }

  /// Whether there is news before that time.
  private func wait(until wake: Int64) -> Bool {
    var time = timespec(tv_sec: Int(wake / 1_000_000_000), tv_nsec: Int(wake % 1_000_000_000))
    return unsafe pthread_cond_timedwait(change, lock, &time) == 0
  }

  /// Makes the waiting taker, or the next one to wait, look at what else there is to do.
  func wake() {
    unsafe pthread_mutex_lock(lock)
    isWoken = true
    unsafe pthread_cond_signal(change)
    unsafe pthread_mutex_unlock(lock)
  }
}
