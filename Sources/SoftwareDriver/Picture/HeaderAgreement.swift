internal import Bitstream
internal import CVA

/// A client's packed headers and its parameter structures say the same twice; where they differ, a
/// hardware driver would write a stream that no decoder reads, so a difference is refused.
extension CheckedPicture {
  func checkAgreement(of context: EncodeContext) throws(DriverError) {
    let headers = context.request.headers
    var sets: PackedHeaderKinds = []
    for header in headers.headers {
      do throws(BitstreamError) {
        if header.kind == .slice {
          try checkSlice(header, of: headers, through: &context.unescaped)
        } else if header.kind == .sequence || header.kind == .picture {
          sets.formUnion(try checkParameterSets(in: headers.bytes, at: header.bytes))
        }
      } catch {
        // Syntax beyond our own, such as ffmpeg's memory management operations, cannot be compared.
        if case .unsupported = error { continue }
        throw .invalidParameter.because("a packed header that contradicts the parameters")
      }
    }
    // Whoever brings one of the two brings the other.
    guard sets.isEmpty || !isIDR || sets == [.sequence, .picture] else {
      throw .invalidParameter.because("a packed SPS without its PPS, or the other way round")
    }
  }

  /// Every SPS and PPS in the header's bytes; other NAL units are the client's own affair.
  private func checkParameterSets(
    in bytes: [UInt8], at range: Range<Int>
  ) throws(BitstreamError) -> PackedHeaderKinds {
    var found: PackedHeaderKinds = []
    let own = Array(bytes[range])
    for unit in AnnexB.units(in: own.span) {
      guard let byte = own[unit].first else { continue }
      let payload = Array(own[unit].dropFirst())
      let rbsp = EmulationPrevention.removed(from: payload.span)
      switch try NALUnitHeader(byte: byte).type {
      case .sequenceParameterSet:
        try check(SequenceParameterSet(rbsp: rbsp))
        found.insert(.sequence)
      case .pictureParameterSet:
        try check(PictureParameterSet(rbsp: rbsp))
        found.insert(.picture)
      default: break
      }
    }
    return found
  }

  private func check(_ brought: SequenceParameterSet) throws(BitstreamError) {
    let known = sequenceParameterSet
    guard brought.id == known.id, brought.widthInMacroblocks == known.widthInMacroblocks,
      brought.heightInMacroblocks == known.heightInMacroblocks,
      brought.log2MaxFrameNum == known.log2MaxFrameNum, brought.pictureOrder == known.pictureOrder,
      brought.maxRefFrameCount >= 1, brought.levelIDC == known.levelIDC,
      brought.cropRight == known.cropRight, brought.cropBottom == known.cropBottom
    else { throw .invalid("packed sequence parameter set") }
  }

  private func check(_ brought: PictureParameterSet) throws(BitstreamError) {
    let known = pictureParameterSet
    guard brought.id == known.id, brought.sequenceID == known.sequenceID,
      brought.usesCABAC == known.usesCABAC, brought.initialQP == known.initialQP,
      brought.chromaQPOffset == known.chromaQPOffset,
      brought.hasDeblockingControl == known.hasDeblockingControl,
      brought.usesConstrainedIntra == known.usesConstrainedIntra,
      brought.uses8x8Transform == known.uses8x8Transform,
      brought.hasRedundantPictures == known.hasRedundantPictures,
      brought.hasBottomFieldOrder == known.hasBottomFieldOrder
    else { throw .invalid("packed picture parameter set") }
  }

  /// The slice header says what the structures say, and ends where `bit_length` says.
  private func checkSlice(
    _ header: PackedHeaders.Header, of headers: PackedHeaders, through unescaped: inout [UInt8]
  ) throws(BitstreamError) {
    let unit = headers.unit(header)
    let nal = try NALUnitHeader(byte: unit.byte)
    guard nal.type == unitHeader.type, (nal.refIDC == 0) == (unitHeader.refIDC == 0) else {
      throw .invalid("packed slice's NAL unit byte")
    }
    let bitCount = headers.payloadBits(of: header, into: &unescaped)
    var bits = BitReader(unescaped, bitLength: bitCount)
    let brought = try SliceHeader(
      from: &bits, nal: nal, sequence: sequenceParameterSet, picture: pictureParameterSet)
    let known = sliceHeader
    guard try isEnd(&bits), brought.firstMacroblock == 0, brought.type == known.type,
      brought.parameterSetID == known.parameterSetID, brought.frameNum == known.frameNum,
      brought.qpDelta == known.qpDelta, brought.cabacInitIDC == known.cabacInitIDC,
      brought.orderLSB == known.orderLSB,
      nal.type != .sliceIDR || brought.idrPictureID == known.idrPictureID,
      (brought.refCountL0 ?? pictureParameterSet.defaultRefCountL0) == 1 || reference == nil,
      brought.disableDeblocking == known.disableDeblocking,
      brought.alphaOffsetDiv2 == known.alphaOffsetDiv2,
      brought.betaOffsetDiv2 == known.betaOffsetDiv2
    else { throw .invalid("packed slice header") }
  }

  /// Whether a slice header ends here; clients may count the ones that align CABAC's data to it.
  private func isEnd(_ bits: inout BitReader) throws(BitstreamError) -> Bool {
    let count = bits.remaining
    guard count > 0 else { return true }
    guard pictureParameterSet.usesCABAC, count < 8, (bits.position + count) & 7 == 0 else {
      return false
    }
    return try bits.read(bits: count) == 1 << UInt32(count) - 1
  }
}
