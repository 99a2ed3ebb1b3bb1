import PipeWire
import Posix
import Report

/// Finds an encoder that is lost in its driver, and tells the service manager's watchdog while none is. Loop
/// thread only.
final class HangWatch {
  // A driver that is so long at one picture has hung; a device that is reset takes a second or two.
  private static let longestPicture: Int64 = 5_000_000_000

  private let tracks: VideoTracks
  private let notices: ServiceNotices
  private var timer: TimerSource?
  /// The encoder's thread does not come back, so nobody waits for it.
  private(set) var hasHung = false

  init(_ tracks: VideoTracks, notices: ServiceNotices, loop: Loop) throws(PipeWireError) {
    self.tracks = tracks
    self.notices = notices
    timer = try loop.addTimer { [weak self] in self?.saysAlive() }
  }

  /// The loop turns from now on.
  func start() {
    if let interval = notices.watchdogInterval { timer?.arm(after: .zero, every: interval) }
  }

  /// Once a second. Answers the end that a driver which has hung is.
  func tick(now: Int64) -> SourceEnd? {
    guard tracks.busyTime(now: now) > Self.longestPicture else { return nil }
    hasHung = true
    return SourceEnd(code: .bug, text: "the driver has not come back with a picture for 5 s")
  }

  private func saysAlive() {
    let patience = notices.watchdogInterval?.nanoseconds ?? 0
    guard tracks.busyTime(now: MonotonicClock.now()) < patience else { return }
    UncountedAllocations.during { notices.alive() }
  }
}
