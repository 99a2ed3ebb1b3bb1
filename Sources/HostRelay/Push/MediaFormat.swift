/// A container that ffmpeg writes, and how.
enum MediaFormat: Equatable, Sendable {
  case flv
  /// In fragments of a second: what is written can be played, whatever comes then.
  case mp4
  case matroska
  case transportStream
  case rtp
  case rtsp
  /// A list of segments beside it.
  case hls

  /// What a name's ending says; nil where it says nothing.
  init?(path: String) {
    guard let dot = path.lastIndex(of: ".") else { return nil }
    switch path[path.index(after: dot)...].lowercased() {
    case "flv": self = .flv
    case "mp4", "m4v", "mov": self = .mp4
    case "mkv": self = .matroska
    case "ts", "mts", "m2ts": self = .transportStream
    case "m3u8": self = .hls
    default: return nil
    }
  }

  /// ffmpeg's options.
  var words: [String] {
    switch self {
    case .flv: ["-f", "flv", "-flvflags", "no_duration_filesize"]
    case .mp4:
      [
        "-f", "mp4", "-movflags", "empty_moov+default_base_moof", "-frag_duration", "1000000",
        "-flush_packets", "1",
      ]
    case .matroska: ["-f", "matroska", "-cluster_time_limit", "1000", "-flush_packets", "1"]
    case .transportStream: ["-f", "mpegts"]
    case .rtp: ["-f", "rtp"]
    case .rtsp: ["-f", "rtsp"]
    case .hls:
      [
        "-f", "hls", "-hls_time", "2", "-hls_list_size", "6", "-hls_flags",
        "delete_segments+append_list+temp_file+independent_segments",
      ]
    }
  }

  /// What becomes of the sounds.
  var sound: SoundForm {
    switch self {
    case .flv, .hls, .rtsp: .mixed
    case .transportStream: .apart
    case .mp4, .matroska: .copied
    case .rtp: .none
    }
  }

  /// As HTTP calls it.
  var mediaType: String {
    switch self {
    case .flv: "video/x-flv"
    case .mp4: "video/mp4"
    case .matroska: "video/x-matroska"
    case .transportStream: "video/mp2t"
    case .rtp, .rtsp: "application/octet-stream"
    case .hls: "application/vnd.apple.mpegurl"
    }
  }
}
