/// What `ffmpeg -progress` says of itself: lines `name=value`, of which `progress` is the last.
struct ProgressReport: Equatable {
  enum Line {
    /// Not of a report.
    case foreign
    case part
    /// The report is whole.
    case whole
  }

  private(set) var frames = 0
  /// Bytes that went out; nil where ffmpeg does not know.
  private(set) var bytes: Int?
  /// How far into the output it is.
  private(set) var microseconds = 0

  private static let names: Set<Substring> = [
    "fps", "bitrate", "out_time", "out_time_ms", "dup_frames", "drop_frames", "speed",
  ]

  mutating func take(_ line: String) -> Line {
    let parts = line.split(separator: "=", maxSplits: 1)
    guard let name = parts.first, parts.count == 2 else { return .foreign }
    let value = Int(parts[1].drop { $0 == " " })
    switch name {
    case "frame": frames = value ?? frames
    case "total_size": bytes = value
    case "out_time_us": microseconds = value ?? microseconds
    case "progress": return .whole
    default: return Self.names.contains(name) || name.hasPrefix("stream_") ? .part : .foreign
    }
    return .part
  }
}
