import Posix
import Wire

/// Turns the PTS of one agent after the other into one that never goes back.
///
/// As long as a source's PTS goes on from what was given out, it stays as it is; agents on one
/// machine share a clock, so that is the rule. Where it does not, it is rebased on the time that
/// has passed since.
struct OutputClock {
  struct Stamp: Equatable {
    let pts: Int64
    /// The packet does not follow the one before it in its source's time.
    let isDiscontinuous: Bool
  }

  /// How far the source's time may be off the time that passed before it is rebased.
  private static let tolerance = Duration.seconds(1).nanoseconds

  private var offset: Int64 = 0
  private var last: (pts: Int64, time: Moment)?
  private var lastOfStream: [UInt32: Int64] = [:]

  /// The output PTS of a packet that came at `now`; `frame` is the stream's frame interval.
  mutating func stamp(_ pts: Int64, stream: UInt32, frame: Duration, now: Moment) -> Stamp {
    var output = pts.addingWithoutTrap(offset)
    var isDiscontinuous = false
    if let last {
      let expected = last.pts + max(frame, now - last.time).nanoseconds
      if output.distance(from: expected) > Self.tolerance {
        offset = expected.subtractingWithoutTrap(pts)
        output = expected
        isDiscontinuous = true
      }
    } else if pts.magnitude > UInt64(Int64.max / 4) {
      // A clock that is about to overflow is no clock: begin at zero.
      offset = Int64(0).subtractingWithoutTrap(pts)
      output = 0
    }
    if let before = lastOfStream[stream] { output = max(output, before + 1) }
    lastOfStream[stream] = output
    if output >= last?.pts ?? .min { last = (output, now) }
    return Stamp(pts: output, isDiscontinuous: isDiscontinuous)
  }
}

extension Int64 {
  fileprivate func addingWithoutTrap(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  fileprivate func subtractingWithoutTrap(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  fileprivate func distance(from other: Int64) -> Int64 {
    let difference = subtractingWithoutTrap(other)
    return difference == .min ? .max : abs(difference)
  }
}
