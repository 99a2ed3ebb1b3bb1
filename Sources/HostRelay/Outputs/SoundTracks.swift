import Wire

/// The sounds of a container: one track each, whose times do not go back.
struct SoundTracks {
  /// An Opus packet of 20 ms, in ticks of 90 kHz.
  static let packetTicks: Int64 = 1800

  let sources: [StreamDescription.Source]
  private var last: [Int64]

  init(_ sources: [StreamDescription.Source]) {
    self.sources = sources
    last = [Int64](repeating: -1, count: sources.count)
  }

  /// Where a packet goes, and when; nil where its sound has no track, or before the first picture.
  mutating func place(
    of source: StreamDescription.Source, at time: Int64?
  ) -> (index: Int, time: Int64)? {
    guard let time, let index = sources.firstIndex(of: source) else { return nil }
    last[index] = max(time, last[index] + 1)
    return (index, last[index])
  }
}
