import TestSupport
import Testing

@testable import Bitstream

@Suite struct HeaderTests {
  static func sequence() -> SequenceParameterSet {
    var sps = SequenceParameterSet(
      profileIDC: 66, constraintFlags: 0xc0, levelIDC: 40, widthInMacroblocks: 120,
      heightInMacroblocks: 68)
    sps.cropBottom = 8
    sps.vui = VideoUsability(
      colour: .bt709, timing: .init(unitsInTick: 1, timeScale: 60, isFixed: false),
      restriction: .init(maxReorderFrames: 0, maxDecodedFrames: 1))
    return sps
  }

  @Test("a sequence parameter set is read as it was written", arguments: [66, 77, 100] as [UInt8])
  func sequenceParameterSet(profile: UInt8) throws {
    var sps = Self.sequence()
    sps.profileIDC = profile
    sps.pictureOrder = profile == 77 ? .lsb(log2Max: 8) : .decodingOrder
    #expect(try SequenceParameterSet(rbsp: sps.rbsp()) == sps)
    #expect(sps.displayWidth == 1920)
    #expect(sps.displayHeight == 1080)
  }

  @Test("the codec string names profile, constraints and level")
  func codecString() {
    #expect(Self.sequence().codecString == "avc1.42C028")
  }

  @Test("a picture parameter set is read as it was written")
  func pictureParameterSet() throws {
    var pps = PictureParameterSet(initialQP: 30)
    #expect(try PictureParameterSet(rbsp: pps.rbsp()) == pps)
    pps.usesCABAC = true
    pps.uses8x8Transform = true
    #expect(try PictureParameterSet(rbsp: pps.rbsp() + [0]) == pps)
  }

  @Test("a slice header is read as it was written, and the reader stands at the slice data")
  func sliceHeader() throws {
    let sps = Self.sequence()
    let pps = PictureParameterSet()
    for (type, nal) in [
      (SliceHeader.SliceType.i, NALUnitHeader(type: .sliceIDR, refIDC: 3)),
      (.p, NALUnitHeader(type: .slice, refIDC: 2)), (.p, NALUnitHeader(type: .slice, refIDC: 0)),
    ] {
      var header = SliceHeader(type: type, frameNum: nal.type == .sliceIDR ? 0 : 200, qpDelta: -7)
      header.idrPictureID = nal.type == .sliceIDR ? 3 : 0
      header.alphaOffsetDiv2 = -2
      header.betaOffsetDiv2 = 1
      var bits = BitWriter()
      header.write(to: &bits, nal: nal, sequence: sps, picture: pps)
      bits.put(0x5a, bits: 8)
      bits.putTrailingBits()
      var reader = BitReader(bits.bytes)
      #expect(
        try SliceHeader(from: &reader, nal: nal, sequence: sps, picture: pps) == header)
      #expect(try reader.read(bits: 8) == 0x5a)
    }
  }

  @Test("cut or flipped headers throw and never trap")
  func damaged() {
    let rbsp = Self.sequence().rbsp()
    var generator = SplitMix(seed: 7)
    for _ in 0..<4000 {
      var damaged = Array(rbsp.prefix(Int(generator.next() % UInt64(rbsp.count + 1))))
      if !damaged.isEmpty {
        let at = Int(generator.next() % UInt64(damaged.count))
        damaged[at] ^= UInt8(truncatingIfNeeded: generator.next())
      }
      _ = try? SequenceParameterSet(rbsp: damaged)
      _ = try? PictureParameterSet(rbsp: damaged)
      var reader = BitReader(damaged)
      _ = try? SliceHeader(
        from: &reader, nal: .init(type: .sliceIDR, refIDC: 1), sequence: Self.sequence(),
        picture: PictureParameterSet())
    }
    #expect(throws: BitstreamError.endOfData) { try SequenceParameterSet(rbsp: [66, 0]) }
  }
}
