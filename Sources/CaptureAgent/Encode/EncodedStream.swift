import Bitstream

/// How an encoder's output is to be read.
struct EncodedStream: Equatable, Sendable {
  /// As in RFC 6381, for example `avc1.42C028`.
  private(set) var codec: String
  let codedWidth: Int
  let codedHeight: Int
  /// What is shown of the coded size, from its top left corner; even numbers.
  private(set) var displayWidth: Int
  private(set) var displayHeight: Int
  let framesPerSecond: Int
  /// SPS and PPS with start codes, the same that come with every keyframe.
  private(set) var parameterSets: [UInt8]

  init(configuration: EncoderConfiguration, headers: H264Headers) {
    codec = headers.sequenceSet.codecString
    codedWidth = configuration.codedWidth
    codedHeight = configuration.codedHeight
    displayWidth = configuration.displayWidth
    displayHeight = configuration.displayHeight
    framesPerSecond = configuration.framesPerSecond
    parameterSets = headers.parameterSets
  }

  /// Takes over what a driver that writes its own parameter sets put into a keyframe. Answers the SPS,
  /// and where in `unit` it goes, that has to stand in the place of the driver's, if any.
  mutating func takeParameterSets(
    from unit: [UInt8], colour: VideoUsability.Colour
  ) -> (range: Range<Int>, unit: [UInt8])? {
    var sets: [UInt8] = []
    var correction: (range: Range<Int>, unit: [UInt8])?
    for range in AnnexB.units(in: unit.span) {
      guard let header = try? NALUnitHeader(byte: unit[range.lowerBound]) else { continue }
      switch header.type {
      case .sequenceParameterSet:
        let payload = unit[range.dropFirst()]
        let rbsp = EmulationPrevention.removed(from: payload.span)
        var written = Array(unit[range])
        if var set = try? SequenceParameterSet(rbsp: rbsp) {
          if let corrected = CorrectedSequence.corrected(set, colour: colour) {
            set = corrected
            written = [header.byte] + EmulationPrevention.inserted(into: set.rbsp().span)
            correction = (range, written)
          }
          codec = set.codecString
          displayWidth = set.displayWidth
          displayHeight = set.displayHeight
        }
        sets += AnnexB.startCode + written
      case .pictureParameterSet: sets += AnnexB.startCode + unit[range]
      default: break
      }
    }
    if !sets.isEmpty { parameterSets = sets }
    return correction
  }
}
