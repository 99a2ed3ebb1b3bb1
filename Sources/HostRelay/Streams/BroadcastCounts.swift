import Wire

/// What is counted and remembered of a broadcast for its status.
extension Broadcast {
  /// What the agent has given up for want of memory, in its own words.
  struct Memory {
    var step = MemoryStep.rest
    var text = ""
    /// Steps taken and undone so far, of all agents.
    var changes = 0
  }

  struct Counts {
    var packets = 0
    var keyframes = 0
    var bytes = 0
    /// Pictures that came before their keyframe, or for an unknown stream.
    var withheld = 0
    var discontinuities = 0
    var lastPacket: Moment?
  }
}
