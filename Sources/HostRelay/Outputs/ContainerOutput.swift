import Posix
import Report
import Wire

/// The screen and its sounds as MPEG-TS: muxed once, read by any number of players.
final class ContainerOutput {
  let stream = Stream()
  /// Called at the end of a session, which in a container is the end of the file.
  var finished: (() -> Void)?

  /// The sounds that there are, in the order of their tracks; others begin with a keyframe.
  var sounds: [StreamDescription.Source] = []
  /// Those that have a track.
  var soundTracks: [StreamDescription.Source] { tracks.sources }

  private var muxer: ContainerMuxer
  private var tracks = SoundTracks([])
  private var tables = 0
  private var repeater = PictureRepeater()
  private var clock = ContainerClock()
  private var keepAlive = KeepAlive()
  private var lastKeyframe: (accessUnit: [UInt8], frame: Duration)?
  private var last: (pts: Int64, time: Moment)?
  private var failures = RepeatedError("MPEG-TS")

  init() throws(MuxerError) {
    muxer = try ContainerMuxer(.transportStream(tables: 0))
  }

  /// Muxes one access unit; what libavformat refuses is counted and left out. `frame` is the
  /// interval between two pictures at full rate.
  func put(
    _ accessUnit: ArraySlice<UInt8>, kind: Packet.Kind, pts: Int64, frame: Duration, now: Moment
  ) {
    keepAlive.spoke(now: now)
    last = (pts, now)
    if kind == .keyframe { lastKeyframe = (Array(accessUnit), frame) }
    let pair = repeater.pair(for: accessUnit)
    let spacing = pair.repeated == nil ? frame : frame / 2
    do {
      if kind == .keyframe, sounds != tracks.sources {
        // Readers go on, and are told of other tracks.
        tables += 1
        muxer = try ContainerMuxer(.transportStream(tables: tables), soundCount: sounds.count)
        tracks = SoundTracks(sounds)
      }
      let time = clock.time(of: pts, spacing: spacing)
      var bytes = try muxer.mux(
        pair.accessUnit.span, time: time, duration: 0, isKeyframe: kind == .keyframe)
      if let repeated = pair.repeated {
        bytes += try muxer.mux(
          repeated.span, time: clock.timeAfter(spacing: spacing), duration: 0, isKeyframe: false)
      }
      let silence = SoundTracks.silence
      for place in tracks.silence(before: time) {
        bytes += try muxer.mux(
          sound: silence.span, index: place.index, time: place.time,
          duration: SoundTracks.silenceTicks)
      }
      stream.put(Packet(kind: kind, pts: pts, bytes: SharedBytes(bytes)), now: now)
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
  }

  /// Muxes one Opus packet, where its sound has a track already.
  func put(
    sound packet: ArraySlice<UInt8>, of source: StreamDescription.Source, pts: Int64, now: Moment
  ) {
    guard let place = tracks.place(of: source, at: clock.soundTime(of: pts)) else { return }
    do {
      let bytes = try muxer.mux(
        sound: packet.span, index: place.index, time: place.time,
        duration: SoundTracks.packetTicks)
      stream.put(Packet(kind: .sound, pts: pts, bytes: SharedBytes(bytes)), now: now)
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
  }

  /// A sound is off or lost; its track goes on in silence.
  func stop(_ source: StreamDescription.Source) { tracks.stop(source) }

  /// Repeats the last keyframe with a new PTS where nothing came for a while, since players and
  /// servers give up on a file that stands still. Only a keyframe may follow.
  func keepAlive(now: Moment) {
    guard let last, let lastKeyframe, keepAlive.isDue(now: now) else { return }
    put(
      lastKeyframe.accessUnit[...], kind: .keyframe,
      pts: last.pts + (now - last.time).nanoseconds, frame: lastKeyframe.frame, now: now)
  }

  /// Ends the file for those who have seen some of it; the others wait for the next session.
  func finish() {
    stream.forgetCache()
    lastKeyframe = nil
    finished?()
  }
}
