import Bitstream
import Posix
import Report
import Wire

/// The screen as fragmented MP4: muxed once, for players with its sounds, and without them for browsers
/// that have no WebCodecs.
///
/// A fragment is one picture. What stands before the first of them holds for one kind of picture: with
/// another size or profile a new file begins.
final class FragmentOutput {
  let stream = Stream()
  /// Called at the end of a file: of the session, or of one kind of picture.
  var finished: (() -> Void)?

  /// The sounds that there are, in the order of their tracks; others begin with a new file.
  var sounds: [StreamDescription.Source] = []

  private var file: File?
  private struct File {
    let muxer: ContainerMuxer
    let parameterSets: [UInt8]
    var clock = ContainerClock()
    var tracks: SoundTracks
  }
  private var failures = RepeatedError("MP4")

  /// Muxes one access unit; what cannot be read is counted and left out.
  func put(
    _ accessUnit: ArraySlice<UInt8>, kind: Packet.Kind, pts: Int64, frame: Duration, now: Moment
  ) {
    do {
      if kind == .keyframe { try begin(with: accessUnit, now: now) }
      guard file != nil else { return }
      guard let time = file?.clock.time(of: pts, spacing: frame),
        let bytes = try file?.muxer.mux(
          accessUnit.span, time: time, duration: frame.nanoseconds * 9 / 100_000,
          isKeyframe: kind == .keyframe)
      else { return }
      stream.put(Packet(kind: kind, pts: pts, bytes: SharedBytes(bytes)), now: now)
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
  }

  /// Muxes one Opus packet, where its sound has a track.
  func put(
    sound packet: ArraySlice<UInt8>, of source: StreamDescription.Source, pts: Int64, now: Moment
  ) {
    guard let time = file?.clock.soundTime(of: pts),
      let place = file?.tracks.place(of: source, at: time)
    else { return }
    do {
      guard
        let bytes = try file?.muxer.mux(
          sound: packet.span, index: place.index, time: place.time,
          duration: SoundTracks.packetTicks)
      else { return }
      stream.put(Packet(kind: .sound, pts: pts, bytes: SharedBytes(bytes)), now: now)
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
  }

  /// Ends the file for those who have seen some of it.
  func finish() {
    guard file != nil else { return }
    file = nil
    stream.head = nil
    stream.forgetCache()
    finished?()
  }

  /// A new file, unless the keyframe's parameter sets and the sounds are those of the last one.
  private func begin(with accessUnit: ArraySlice<UInt8>, now: Moment) throws {
    var parameterSets: [UInt8] = []
    var sequence: SequenceParameterSet?
    for range in AnnexB.units(in: accessUnit.span) {
      let unit = accessUnit.span.extracting(range)
      switch try NALUnitHeader(byte: unit[0]).type {
      case .sequenceParameterSet:
        sequence = try SequenceParameterSet(
          rbsp: EmulationPrevention.removed(from: unit.extracting(1...)))
      case .pictureParameterSet: break
      default: continue
      }
      parameterSets += [0, 0, 0, 1]
      for index in unit.indices { parameterSets.append(unit[index]) }
    }
    guard let sequence, parameterSets != file?.parameterSets || sounds != file?.tracks.sources
    else { return }
    finish()
    let muxer = try ContainerMuxer(
      .fragments(
        parameterSets: parameterSets, width: sequence.displayWidth,
        height: sequence.displayHeight), soundCount: sounds.count)
    file = File(muxer: muxer, parameterSets: parameterSets, tracks: SoundTracks(sounds))
    let head = Packet(kind: .message, pts: 0, bytes: SharedBytes(muxer.header))
    stream.head = head
    stream.put(head, now: now)
  }
}
