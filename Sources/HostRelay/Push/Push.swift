import CUV
import Glibc
import Posix
import Report

/// One destination of the broadcast: keeps an `ffmpeg` running towards it for as long as there is
/// something to send, and tries again for ever.
///
/// A broadcast that pauses, or loses its agent, goes on here with its last keyframe. One that ends ends
/// the output in order, and the next one begins another.
final class Push {
  enum State: String {
    /// For a picture, or for the next try.
    case waiting
    case starting
    case live
    /// It cannot go on with this broadcast.
    case ended
  }

  let target: PushTarget
  private(set) var state = State.waiting
  /// Why it is in that state, for people; without secrets.
  private(set) var detail = "waits for a picture"
  /// Starts of ffmpeg behind the first one.
  private(set) var restarts = 0
  /// What ffmpeg said last of the output of this run.
  private(set) var report = ProgressReport()
  /// Where the output of this run goes.
  private(set) var destination: Destination?

  /// Asks for a keyframe.
  var needsKeyframe: (() -> Void)?

  private let word: String
  private let source: ContainerOutput
  private let mix: SoundMix
  private let loop: EventLoop
  private var stream: Stream { source.stream }
  private var feed: ChildFeed?
  private var run: FFmpegRun?
  /// What this run takes of the stream, as ffmpeg is told.
  private var tracks: [String] = []
  private var starts = 0
  private var formerBytes = 0
  private var backoff = Backoff(RelayLimits.pushRetryDelays)
  private var nextTry: Moment?
  private var liveSince: Moment?
  /// What ffmpeg complained of last.
  private var complaint = ""
  private var logged = ""
  /// The relay has ended its input, or ends it.
  private var isEndExpected = false
  private var isClosed = false

  /// `word` is what logs call it.
  init(
    _ word: String = "push", to target: PushTarget, from source: ContainerOutput, mix: SoundMix,
    on loop: EventLoop
  ) {
    self.word = word
    self.target = target
    self.source = source
    self.mix = mix
    self.loop = loop
  }

  /// Bytes that went out, of all runs.
  var byteCount: Int { formerBytes + runBytes }
  /// The same of this run, or of the last one; into ffmpeg, where it does not say.
  private(set) var runBytes = 0

  /// Whether ffmpeg runs.
  var isRunning: Bool { run != nil }

  /// Joins the stream; the first packet starts ffmpeg.
  func join(now: Moment) {
    let feed = ChildFeed(Reader(name: target.name), loop: loop)
    feed.wanted = { [weak self] in self?.begin() }
    self.feed = feed
    isEndExpected = false
    stream.join(feed.reader, now: now)
  }

  func tick(now: Moment) {
    if let nextTry, now >= nextTry {
      self.nextTry = nil
      join(now: now)
    }
    guard let feed, let run else { return }
    if feed.isStuck(now: now) {
      complaint = "the output took nothing for \(RelayLimits.childStuckAfter.components.seconds) s"
      run.kill()
    } else if tracks != tracks(for: destination), !isEndExpected {
      Log.note("\(shownName): there are other sounds, which need another run")
      endInput(of: feed)
    } else if !stream.isSuspended, let last = feed.lastKeyframe,
      now - last >= target.keyframeInterval
    {
      needsKeyframe?()
    }
  }

  /// The broadcast is over: what waits goes out, and the output ends.
  func finishStream() {
    if state == .ended { return wait(for: .zero, "waits for a picture") }
    guard let feed, feed.hasBegun else { return }
    endInput(of: feed)
  }

  /// The relay ends. What has begun still ends in order.
  func close() {
    isClosed = true
    nextTry = nil
    guard let feed else { return }
    if feed.hasBegun { endInput(of: feed) } else { drop(feed) }
  }

  /// The relay cannot wait any longer. A file ends with its input, and needs no blow.
  func kill() {
    if case .address = target { run?.kill() }
  }

  private func endInput(of feed: ChildFeed) {
    isEndExpected = true
    stream.leave(feed.reader)
    feed.finish()
    run?.expectEnd()
  }

  private func drop(_ feed: ChildFeed) {
    stream.leave(feed.reader)
    feed.close()
  }

  private func begin() {
    set(.starting, "")
    guard let feed else { return }
    target.choose(on: loop) { [weak self] destination in
      guard let self, self.feed === feed else { return }
      start(to: destination, from: feed)
    }
  }

  private func start(to destination: Destination, from feed: ChildFeed) {
    self.destination = destination
    formerBytes = byteCount
    runBytes = 0
    report = ProgressReport()
    complaint = ""
    liveSince = nil
    restarts = starts
    starts += 1
    do {
      tracks = tracks(for: destination)
      let run = try FFmpegRun(to: destination, tracks: tracks, from: feed, on: loop)
      self.run = run
      run.said = { [weak self] in self?.heard($0) }
      run.progressed = { [weak self] in self?.progressed($0) }
      run.ended = { [weak self] in self?.runEnded($0) }
      if isEndExpected { run.expectEnd() }
    } catch let error as UVError where error.code == UV_ENOENT.rawValue {
      failed("there is no program ffmpeg (Debian's package ffmpeg)")
    } catch {
      failed("\(error)")
    }
  }

  private func tracks(for destination: Destination?) -> [String] {
    destination?.format.sound.words(of: source.soundTracks, mix: mix) ?? []
  }

  private func heard(_ line: String) {
    // What follows a disk's failure names it no more.
    guard !DiskFailure.isNamed(in: complaint) else { return }
    complaint = destination?.redacted(line) ?? ""
  }

  private func progressed(_ report: ProgressReport) {
    self.report = report
    runBytes = report.bytes ?? feed?.byteCount ?? 0
    guard state == .starting, report.frames > 0 else { return }
    liveSince = .now
    set(.live, "")
    logged = ""
    Log.note("\(shownName): live")
  }

  private func runEnded(_ end: ChildEnd) {
    run = nil
    if let liveSince, .now - liveSince >= RelayLimits.pushSoundAfter { backoff.reset() }
    if isEndExpected {
      Log.note("\(shownName): ended in order")
      if let feed { drop(feed) }
      wait(for: .zero, "waits for a picture")
    } else if case .files = target, let reason = DiskFailure.reason(of: end, saying: complaint) {
      if let feed { drop(feed) }
      set(.ended, reason)
      Log.note("\(shownName): ended: \(reason)")
    } else {
      failed(complaint.isEmpty ? "ffmpeg ended: \(end.words)" : complaint)
    }
  }

  private func failed(_ reason: String) {
    if let feed { drop(feed) }
    let delay = backoff.next()
    if reason != logged { Log.note("\(shownName): \(reason); tries again") }
    logged = reason
    wait(for: delay, reason)
  }

  private func wait(for delay: Duration, _ detail: String) {
    set(.waiting, detail)
    feed = nil
    if !isClosed { nextTry = .now + delay }
  }

  private func set(_ state: State, _ detail: String) {
    self.state = state
    self.detail = detail
  }

  private var shownName: String { "\(word) \(destination?.name ?? target.name)" }
}

extension ChildEnd {
  /// How it ended, for people.
  fileprivate var words: String { signal == 0 ? "code \(code)" : "signal \(signal)" }
}
