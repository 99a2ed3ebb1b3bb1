import Wire

/// What waits in a reader's queue: one access unit as it is sent, or a message between two of them.
struct Packet {
  enum Kind {
    case keyframe
    case picture
    case sound
    // The same of the camera beside the screen, which a reader may lose or be given by itself.
    case cameraKeyframe
    case cameraPicture
    /// Keeps its place among the packets and is never dropped.
    case message
  }

  var isCameras: Bool { kind == .cameraKeyframe || kind == .cameraPicture }

  let kind: Kind
  /// Nanoseconds of the session's output clock, which never goes back; 0 for a message.
  let pts: Int64
  let bytes: SharedBytes
}

extension StreamDescription {
  /// Between two pictures at full rate; a thirtieth of a second where no rate is given.
  var frameInterval: Duration {
    guard frameRate.numerator > 0, frameRate.denominator > 0 else { return .seconds(1) / 30 }
    return min(
      .seconds(1), .seconds(1) * Double(frameRate.denominator) / Double(frameRate.numerator))
  }
}

extension RawMessage {
  /// The packet as consumers get it: the same bytes behind a header with the output's PTS.
  func packet(_ kind: Packet.Kind, stamp: OutputClock.Stamp) -> Packet {
    var header = header
    header.pts = stamp.pts
    if stamp.isDiscontinuous { header.flags.insert(.discontinuity) }
    var bytes = bytes
    var span = bytes.mutableSpan
    header.write(to: &span)
    return Packet(kind: kind, pts: stamp.pts, bytes: SharedBytes(bytes))
  }
}
