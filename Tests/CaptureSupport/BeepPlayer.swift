import CPipeWire
package import Posix

/// A program that plays: silence, and a beep at each whole second of CLOCK_MONOTONIC. Gone with the value.
package final class BeepPlayer {
  private let node: SoundNode

  /// Plays into the sink with this name.
  package init(remote: consuming OwnedFD, sink: String) throws {
    node = try SoundNode(
      remote: remote, name: "beeps",
      properties: [
        PW_KEY_MEDIA_TYPE: "Audio", PW_KEY_MEDIA_CATEGORY: "Playback", PW_KEY_TARGET_OBJECT: sink,
      ],
      isOutput: true,
      // The cycle that is told is the one whose samples are asked for.
      flags: pw_stream_flags(
        rawValue: PW_STREAM_FLAG_AUTOCONNECT.rawValue | PW_STREAM_FLAG_RT_PROCESS.rawValue)
    ) { node in
      var time = pw_time()
      pw_stream_get_time_n(node.stream, &time, MemoryLayout<pw_time>.size)
      node.give(limit: nil, pairsPerSecond: Double(SoundNode.samplesPerSecond)) { pairs in
        // A stream is asked for one buffer more than the cycle at hand takes.
        time.now + Int64(pairs) * 1_000_000_000 / SoundNode.samplesPerSecond
      }
    }
  }
}
