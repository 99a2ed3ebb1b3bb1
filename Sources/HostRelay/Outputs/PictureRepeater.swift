import Bitstream

/// Makes, for each picture, a second one that repeats it and that nothing refers to.
///
/// A demuxer knows the end of an access unit by the beginning of the next one alone, so every player
/// of a container is late by one picture: 33 ms at 30 a second. A repeated picture sent along ends
/// it at once. It is nothing but skipped macroblocks (H.264 7.3.4, 8.4.1.1), some twenty bytes.
struct PictureRepeater {
  /// What goes into the container for one access unit.
  struct Pair {
    let accessUnit: ArraySlice<UInt8>
    /// nil where the stream is of a kind that this cannot repeat.
    let repeated: [UInt8]?
  }

  private var sequence: SequenceParameterSet?
  /// False where the stream says a rate that could not be doubled: tools would believe it.
  private var isRateTrue = true
  private var picture: PictureParameterSet?

  /// Parameter sets and the first slice's header stand in the first bytes of an access unit.
  private static let lookedAt = 1024

  /// Takes an access unit in Annex B, the parameter sets in front of each keyframe included.
  mutating func pair(for accessUnit: ArraySlice<UInt8>) -> Pair {
    let head = Array(accessUnit.prefix(Self.lookedAt))
    var accessUnit = accessUnit
    do {
      for unit in AnnexB.units(in: head.span) {
        let header = try NALUnitHeader(byte: head[unit.lowerBound])
        let payload = head.span.extracting(unit.lowerBound + 1..<unit.upperBound)
        switch header.type {
        case .sequenceParameterSet:
          let rbsp = EmulationPrevention.removed(from: payload)
          sequence = nil
          let set = try SequenceParameterSet(rbsp: rbsp)
          sequence = set
          let faster = set.withTwiceTheRate(insteadOf: rbsp)
          isRateTrue = faster != nil || set.vui?.timing == nil
          if let faster {
            let start = accessUnit.startIndex
            let rest = accessUnit[(start + unit.upperBound)...]
            let before = accessUnit[..<(start + unit.lowerBound)].dropLast(3)
            accessUnit = before + AnnexB.unit(header, rbsp: faster).dropFirst() + rest
          }
        case .pictureParameterSet:
          picture = try PictureParameterSet(rbsp: EmulationPrevention.removed(from: payload))
        case .slice, .sliceIDR:
          let repeated = try repeated(header, EmulationPrevention.removed(from: payload))
          return Pair(accessUnit: accessUnit, repeated: repeated)
        default: break
        }
      }
    } catch {
      // Not ours to judge: what cannot be read here goes on as it came.
    }
    return Pair(accessUnit: accessUnit, repeated: nil)
  }

  /// The picture that repeats the one whose first slice is `rbsp`.
  private func repeated(
    _ header: NALUnitHeader, _ rbsp: [UInt8]
  ) throws(BitstreamError) -> [UInt8]? {
    guard let sequence, let picture, isRateTrue, header.refIDC != 0 else {
      return nil
    }
    var bits = BitReader(rbsp)
    let slice = try SliceHeader(from: &bits, nal: header, sequence: sequence, picture: picture)
    // As the next picture has it, since a picture that nothing refers to is not counted (7.4.3).
    let frameNum = (slice.frameNum + 1) & (UInt32(1) << sequence.log2MaxFrameNum - 1)
    var skipped = SliceHeader(type: .p, frameNum: frameNum, qpDelta: 0)
    skipped.parameterSetID = slice.parameterSetID
    skipped.refCountL0 = picture.defaultRefCountL0 == 1 ? nil : 1
    skipped.orderLSB = slice.orderLSB + 1
    skipped.disableDeblocking = 1
    let nal = NALUnitHeader(type: .slice, refIDC: 0)
    var writer = BitWriter()
    skipped.write(to: &writer, nal: nal, sequence: sequence, picture: picture)
    writer.putSkippedSlice(
      count: sequence.widthInMacroblocks * sequence.heightInMacroblocks, picture: picture)
    return AnnexB.unit(nal, rbsp: writer.bytes)
  }
}

extension SequenceParameterSet {
  /// The set that says twice as many pictures a second, since that many will come; nil where it
  /// says no rate, or says something that would be lost in writing it anew.
  fileprivate func withTwiceTheRate(insteadOf rbsp: [UInt8]) -> [UInt8]? {
    guard self.rbsp() == rbsp, let timing = vui?.timing, timing.timeScale <= .max / 2 else {
      return nil
    }
    var faster = self
    faster.vui?.timing?.timeScale = timing.timeScale * 2
    return faster.rbsp()
  }
}
