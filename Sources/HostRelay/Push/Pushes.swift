import Wire

/// All destinations of a broadcast, and its recording.
final class Pushes {
  let pushes: [Push]
  let recording: Push?
  /// Those of a setup, which begin and end with its broadcast.
  private(set) var started: [Push] = []
  /// Those whose broadcast is over, until they have ended in order.
  private var leaving: [Push] = []
  /// The recording's files; nil without a recording.
  let shelf: RecordingShelf?

  private let broadcast: Broadcast
  private let make: (PushTarget) -> Push

  init(
    to targets: [PushTarget], recording shelf: RecordingShelf?, mix: SoundMix,
    of broadcast: Broadcast,
    on loop: EventLoop
  ) {
    let source = broadcast.outputs.container
    self.broadcast = broadcast
    self.shelf = shelf
    make = { target in
      let push = Push(to: target, from: source, mix: mix, on: loop)
      push.needsKeyframe = { broadcast.askForKeyframe(.push) }
      return push
    }
    pushes = targets.map(make)
    recording = shelf.map { Push("recording", to: .files($0), from: source, mix: mix, on: loop) }
    recording?.needsKeyframe = { broadcast.askForKeyframe(.push) }
  }

  func start(now: Moment) {
    for push in all { push.join(now: now) }
  }

  func tick(now: Moment) {
    for push in all { push.tick(now: now) }
    leaving.removeAll { !$0.isRunning }
  }

  /// A broadcast begins that goes there too.
  func begin(_ targets: [PushTarget], now: Moment) {
    started = targets.map(make)
    for push in started { push.join(now: now) }
  }

  /// It is over: they end in order, and are not tried again.
  func end() {
    for push in started { push.close() }
    leaving += started
    started = []
  }

  /// The broadcast is over; the next one may come.
  func finishStream() {
    for push in all { push.finishStream() }
  }

  /// The relay ends.
  func close() {
    for push in all { push.close() }
  }

  /// The relay waits no longer.
  func kill() {
    for push in all { push.kill() }
  }

  /// The recording that is being written; nil: none.
  var liveRecording: String? {
    guard let recording, recording.isRunning, let file = recording.destination?.name else {
      return nil
    }
    return RecordingShelf.name(of: file)
  }

  private var all: [Push] { pushes + (recording.map { [$0] } ?? []) + started + leaving }
}

extension Pushes {
  /// `pushes` of the status.
  var json: JSONText {
    .list(
      (pushes + started).map { push in
        .object([
          ("name", .text(push.target.name)),
          ("state", .text(push.state.rawValue)),
          ("restarts", .number(push.restarts)),
          ("bytes", .number(push.byteCount)),
          ("detail", .text(push.detail)),
        ])
      })
  }

  /// `recording` of the status; null without `--record`.
  var recordingJSON: JSONText {
    guard let recording else { return .none }
    return .object([
      ("file", .optional((recording.destination?.name).map(RecordingShelf.name))),
      ("state", .text(recordingState(of: recording))),
      ("bytes", .number(recording.runBytes)),
      ("seconds", .decimal(Double(recording.report.microseconds / 1000) / 1000)),
      ("detail", .text(recording.detail)),
    ])
  }

  private func recordingState(of recording: Push) -> String {
    guard recording.state == .live else {
      return recording.state == .starting ? "waiting" : recording.state.rawValue
    }
    return broadcast.session.isPaused ? "paused" : "recording"
  }
}
