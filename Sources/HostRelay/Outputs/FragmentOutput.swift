import Bitstream
import Posix
import Report

/// The screen as fragmented MP4: muxed once, for browsers without WebCodecs and for players.
///
/// A fragment is one picture. What stands before the first of them holds for one kind of picture: with
/// another size or profile a new file begins.
final class FragmentOutput {
  let stream = Stream()
  /// Called at the end of a file: of the session, or of one kind of picture.
  var finished: (() -> Void)?

  private var file: (muxer: VideoMuxer, parameterSets: [UInt8], clock: ContainerClock)?
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

  /// Ends the file for those who have seen some of it.
  func finish() {
    guard file != nil else { return }
    file = nil
    stream.head = nil
    stream.forgetCache()
    finished?()
  }

  /// A new file, unless the keyframe's parameter sets are those of the last one.
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
    guard let sequence, parameterSets != file?.parameterSets else { return }
    finish()
    let muxer = try VideoMuxer(
      .fragments(
        parameterSets: parameterSets, width: sequence.displayWidth,
        height: sequence.displayHeight))
    file = (muxer, parameterSets, ContainerClock())
    let head = Packet(kind: .message, pts: 0, bytes: SharedBytes(muxer.header))
    stream.head = head
    stream.put(head, now: now)
  }
}
