import Wire

/// What becomes of the broadcast's sounds in an output.
enum SoundForm: Equatable, Sendable {
  /// There is no place for any.
  case none
  /// One track of AAC, application sound and microphone mixed.
  case mixed
  /// A track of AAC for each.
  case apart
  /// As they are, a track of Opus for each.
  case copied

  /// ffmpeg's options for tracks of these sounds, in their order in the input; the picture is copied.
  func words(of sounds: [StreamDescription.Source], mix: SoundMix) -> [String] {
    let picture = ["-map", "0:v", "-c:v", "copy"]
    guard self != .none, !sounds.isEmpty else { return picture }
    // A sound that does not come keeps a picture waiting no longer than this (microseconds).
    let sound = ["-max_interleave_delta", "300000", "-c:a"]
    let aac = sound + ["aac", "-b:a", "128k"]
    switch self {
    case .none: return picture
    case .copied: return picture + ["-map", "0:a"] + sound + ["copy"]
    case .apart: return picture + ["-map", "0:a", "-af", Self.steady] + aac
    case .mixed:
      let sides = sounds.enumerated().map { index, source in
        "[0:a:\(index)]volume=\(mix.level(of: source))[s\(index)]"
      }
      let inputs = sounds.indices.map { "[s\($0)]" }.joined()
      let mixer = "\(inputs)amix=inputs=\(sounds.count):normalize=0,\(Self.steady)[mix]"
      let filter = (sides + [mixer]).joined(separator: ";")
      return ["-filter_complex", filter] + picture + ["-map", "[mix]"] + aac
    }
  }

  /// Follows the sound's time stamps: what is missing becomes silence.
  private static let steady = "aresample=async=1"
}

/// How loud each sound is where a push takes one track.
struct SoundMix: Equatable, Sendable {
  /// Percent of what it was.
  var app = 100
  var microphone = 100

  /// Reads `APP,MIC`, each 0 to 400.
  init?(_ text: String) {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 2, let app = numbers[0], let microphone = numbers[1],
      (0...400).contains(app), (0...400).contains(microphone)
    else { return nil }
    (self.app, self.microphone) = (app, microphone)
  }

  /// As ffmpeg's `volume` takes it.
  func level(of source: StreamDescription.Source) -> Double {
    Double(source == .microphone ? microphone : app) / 100
  }
}
