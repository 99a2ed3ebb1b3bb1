/// What waits in a reader's queue: one access unit as it is sent, or a message between two of them.
struct Packet {
  enum Kind {
    case keyframe
    case picture
    case sound
    /// Keeps its place among the packets and is never dropped.
    case message
  }

  let kind: Kind
  /// Nanoseconds of the session's output clock, which never goes back; 0 for a message.
  let pts: Int64
  let bytes: SharedBytes
}
