import CommandOptions

/// What a push leads to.
enum PushTarget: Sendable {
  /// The same for each run.
  case address(Destination)
  /// A new file for each run.
  case files(RecordingShelf)

  /// Reads `--push`: an address, `hls:FILE`, or a file.
  init(push text: String) throws(UsageError) {
    if text.hasPrefix("hls:") {
      guard text.utf8.count > 4 else {
        throw UsageError("--push hls: expected a file behind it, as hls:/folder/live.m3u8")
      }
      self = .address(Destination(file: String(text.dropFirst(4)), format: .hls))
    } else if text.contains("://") {
      self = try .address(Destination(url: text))
    } else if MediaFormat(path: text) == .hls {
      self = .address(Destination(file: text, format: .hls))
    } else {
      self = try .files(RecordingShelf(file: text, option: "--push"))
    }
  }

  var name: String {
    switch self {
    case .address(let destination): destination.name
    case .files(let shelf): shelf.firstFile
    }
  }

  /// Who joins a server, and who seeks in a file, begins at a keyframe.
  var keyframeInterval: Duration {
    switch self {
    case .address: RelayLimits.pushKeyframeInterval
    case .files: RelayLimits.recordingKeyframeInterval
    }
  }

  /// Says where the next run goes, on the loop.
  func choose(on loop: EventLoop, _ done: @escaping (Destination) -> Void) {
    switch self {
    case .address(let destination): done(destination)
    case .files(let shelf):
      BackgroundWork.run(on: loop) {
        shelf.nextFile()
      } done: { path in
        done(Destination(file: path, format: shelf.format))
      }
    }
  }
}
