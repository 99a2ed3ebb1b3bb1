import Wire

/// The sounds of a container: one track each, whose times do not go back.
struct SoundTracks {
  /// An Opus packet of 20 ms, in ticks of 90 kHz.
  static let packetTicks: Int64 = 1800

  /// 60 ms of stereo silence in Opus: three frames of 20 ms that code nothing (RFC 6716, 3.2.5).
  static let silence: [UInt8] = [0xff, 0x03, 0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfe]
  static let silenceTicks = 3 * packetTicks

  /// A track that has been without a packet for so long is given silence; then it is kept up this
  /// closely behind the pictures.
  private static let patience: Int64 = 90_000
  private static let distance: Int64 = 9_000

  let sources: [StreamDescription.Source]
  private var last: [Int64]
  /// From there to where the next packet belongs.
  private var step: [Int64]
  private var isSilent: [Bool]

  init(_ sources: [StreamDescription.Source]) {
    self.sources = sources
    last = [Int64](repeating: -1, count: sources.count)
    step = [Int64](repeating: Self.packetTicks, count: sources.count)
    isSilent = [Bool](repeating: false, count: sources.count)
  }

  /// Where a packet goes, and when; nil where its sound has no track, or before the first picture.
  mutating func place(
    of source: StreamDescription.Source, at time: Int64?
  ) -> (index: Int, time: Int64)? {
    guard let time, let index = sources.firstIndex(of: source) else { return nil }
    last[index] = max(time, last[index] + 1)
    step[index] = Self.packetTicks
    isSilent[index] = false
    return (index, last[index])
  }

  /// The sound is off, or lost: its silence begins at once.
  mutating func stop(_ source: StreamDescription.Source) {
    if let index = sources.firstIndex(of: source) { isSilent[index] = true }
  }

  /// Where silence goes, now that there is a picture at `time`: a sound that is off, lost or paused would
  /// keep whoever plays or mixes its track waiting.
  mutating func silence(before time: Int64) -> [(index: Int, time: Int64)] {
    var places: [(index: Int, time: Int64)] = []
    for index in sources.indices {
      if last[index] < 0 { last[index] = max(0, time - Self.packetTicks) }
      guard isSilent[index] || time - last[index] >= Self.patience else { continue }
      var next = last[index] + step[index]
      while next + Self.silenceTicks <= time - Self.distance {
        places.append((index, next))
        last[index] = next
        step[index] = Self.silenceTicks
        isSilent[index] = true
        next += Self.silenceTicks
      }
    }
    return places
  }
}
