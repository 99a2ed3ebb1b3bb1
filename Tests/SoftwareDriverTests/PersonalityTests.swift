import Bitstream
import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// The drivers that this one can stand in for behave as the real ones are known to.
struct PersonalityTests {
  private let width = 64
  private let height = 48

  private func client(
    _ words: String, entrypoint: VAEntrypoint = VAEntrypointEncSlice,
    rateControl: Int32 = VA_RC_CQP, promised: UInt32 = 0, codedBytes: Int? = nil
  ) throws -> DriverClient {
    let personality = try #require(Personality(words: words))
    return try DriverClient(
      width: width, height: height, entrypoint: entrypoint, rateControl: rateControl,
      promisedHeaders: promised, codedBytes: codedBytes
    ) { $0.personality = personality }
  }

  private func text(_ seed: Int) -> Picture {
    Picture.text(width: width, height: height, seed: UInt64(seed))
  }

  private func expectDecoded(_ coded: [CodedPicture]) throws {
    let decoded = try DecodedStream(coded.flatMap(\.bytes), width: width, height: height)
    #expect(decoded.complaints == [])
    let isExact = decoded.pictures == coded.map(\.reconstruction)
    #expect(isExact, "a decoder shows other pictures")
  }

  /// The sets that a keyframe begins with.
  private func parameterSets(
    of bytes: [UInt8]
  ) throws -> (sequence: SequenceParameterSet, picture: PictureParameterSet) {
    let ranges = AnnexB.units(in: bytes.span)
    func rbsp(_ index: Int) -> [UInt8] {
      let payload = Array(bytes[ranges[index]].dropFirst())
      return EmulationPrevention.removed(from: payload.span)
    }
    return (try SequenceParameterSet(rbsp: rbsp(0)), try PictureParameterSet(rbsp: rbsp(1)))
  }

  private func types(_ bytes: [UInt8]) -> [UInt8] {
    AnnexB.units(in: bytes.span).compactMap { bytes[$0].first }.map { $0 & 31 }
  }

  @Test("a word that names nothing is refused, also among others")
  func words() {
    #expect(Personality(words: "amd") == nil)
    #expect(Personality(words: "intel,") != nil)
    #expect(Personality(words: "sync-old,amd-old,x") == nil)
    for bad in ["vaEndPicture", "@1", "vaEndPicture@0", "vaEndPicture@x", "a@1=b", "a@1@2"] {
      #expect(Faults(text: bad) == nil, "\(bad)")
    }
    func options(_ name: String, _ value: String) -> DriverOptions? {
      DriverOptions { $0 == "PORTHOLE_DRIVER_\(name)" ? value : nil }
    }
    #expect(options("MODE", "best") == nil)
    #expect(options("PERSONALITY", "nvidia") == nil)
    #expect(options("FAULTS", "vaEndPicture") == nil)
    #expect(options("DELAY", "-1") == nil)
    #expect(options("DELAY", "5")?.delayNanoseconds == 5_000_000)
    #expect(options("PERSONALITY", "amd-old,segments")?.personality.splitsSegments == true)
  }

  @Test("the vendor string names who is being imitated")
  func vendor() throws {
    #expect(try client("amd-old,segments").display.vendor.hasSuffix("as amd-old,segments"))
    #expect(try !client("").display.vendor.contains(" as "))
  }

  @Test("amd-old takes no packed headers and writes its own sets, whose frame_num has five bits")
  func amdOld() throws {
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_VALUE)) {
      try self.client("amd-old", promised: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
    }
    let client = try self.client("amd-old")
    client.adjust = {
      $0.sequence?.vui_parameters_present_flag = 1
      $0.sequence?.seq_fields.bits.pic_order_cnt_type = 0
      $0.picture.CurrPic.TopFieldOrderCnt = Int32(client.frameNum * 2)
      $0.slice.pic_order_cnt_lsb = UInt16(client.frameNum * 2 & 15)
      $0.picture.pic_init_qp = 30
      $0.slice.slice_qp_delta = 2
    }
    // More pictures than five bits count.
    let coded = try (0..<36).map { try client.encode(text($0 / 2)) }
    try expectDecoded(coded)
    let (set, picture) = try parameterSets(of: coded[0].bytes)
    #expect(set.constraintFlags == 0x44)
    #expect(set.log2MaxFrameNum == 5)
    #expect(set.pictureOrder == .lsb(log2Max: 5))
    #expect(set.vui?.colour == nil)
    #expect(set.vui?.restriction?.maxReorderFrames == 0)
    #expect(picture.initialQP == 26)
    let sei = PackedHeader(type: VAEncPackedHeaderRawData, bytes: [0, 0, 0, 1, 6, 5, 0, 0x80])
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_UNIMPLEMENTED)) {
      try client.encode(text(1), headers: [sei])
    }
  }

  @Test("amd-old restricts reordering only where the client has a VUI")
  func amdOldWithoutVUI() throws {
    let bytes = try client("amd-old").encode(text(1)).bytes
    #expect(try parameterSets(of: bytes).sequence.vui == nil)
  }

  @Test("amd-24 takes parameter sets and no slice header")
  func amd24() throws {
    let slice = UInt32(VA_ENC_PACKED_HEADER_SLICE)
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_VALUE)) {
      try self.client("amd-24", promised: UInt32(VA_ENC_PACKED_HEADER_SEQUENCE) | slice)
    }
    let client = try self.client("amd-24")
    let header = PackedHeader(
      type: VAEncPackedHeaderSlice, bytes: [0, 0, 0, 1, 0x65, 0x88, 0x80])
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) {
      try client.encode(text(1), headers: [header])
    }
  }

  @Test("amd-new leaves the NAL unit byte 0 where the client brings no slice header")
  func amdNew() throws {
    #expect(types(try client("amd-new").encode(text(1)).bytes) == [7, 8, 0])
  }

  @Test("intel has both entrypoints; without firmware, the low-power one and constant QP alone")
  func intel() throws {
    let qualities: [(String, VAEntrypoint, Int32?)] = [
      ("intel", VAEntrypointEncSlice, VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_ICQ | VA_RC_QVBR),
      ("intel", VAEntrypointEncSliceLP, VA_RC_CQP | VA_RC_CBR | VA_RC_VBR | VA_RC_QVBR),
      ("intel-cqp", VAEntrypointEncSlice, nil),
      ("intel-cqp", VAEntrypointEncSliceLP, VA_RC_CQP),
      ("amd-old", VAEntrypointEncSliceLP, nil),
      ("decode-only", VAEntrypointEncSlice, nil),
      ("", VAEntrypointEncSliceLP, VA_RC_CQP | VA_RC_CBR | VA_RC_VBR),
    ]
    for (words, entrypoint, modes) in qualities {
      var options = DriverOptions()
      options.personality = try #require(Personality(words: words))
      let display = try DriverDisplay(options: options)
      var attribute = VAConfigAttrib(type: VAConfigAttribRateControl, value: 0)
      let status = vaGetConfigAttributes(
        display.display, VAProfileH264ConstrainedBaseline, entrypoint, &attribute, 1)
      if let modes {
        #expect(status == VA_STATUS_SUCCESS && attribute.value == UInt32(modes), "\(words)")
      } else {
        #expect(status == VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT, "\(words)")
      }
    }
    let low = try client("intel-cqp", entrypoint: VAEntrypointEncSliceLP)
    try expectDecoded([low.encode(text(1)), low.encode(text(2))])
  }

  @Test("ICQ's quality factor is the QP of every picture, and QVBR's the finest")
  func qualities() throws {
    func size(_ mode: Int32, _ quality: Int) throws -> Int {
      let client = try self.client("intel", rateControl: mode)
      var rate = VAEncMiscParameterRateControl()
      rate.bits_per_second = mode == VA_RC_QVBR ? 20_000_000 : 0
      rate.ICQ_quality_factor = UInt32(quality)
      rate.quality_factor = UInt32(quality)
      let misc = [miscParameters(VAEncMiscParameterTypeRateControl, rate)]
      return try client.encode(text(1), qp: 26, misc: misc).bytes.count
    }
    for mode in [VA_RC_ICQ, VA_RC_QVBR] {
      #expect(try size(mode, 40) < size(mode, 22) * 3 / 4)
      #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) { try size(mode, 0) }
      #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) { try size(mode, 52) }
    }
  }

  @Test("intel tells of a coded buffer that is too small by its status alone")
  func overflowByStatus() throws {
    let client = try self.client("intel", codedBytes: 600)
    try client.encode(.noise(width: width, height: height, seed: 1))
    let status = try client.codedSegments().status
    #expect(status & UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK) != 0)
    // What did not fit is no reference.
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) {
      try client.encode(text(1))
    }
    try client.encode(Picture(width: width, height: height), isIDR: true)
    #expect(try client.codedSegments().status & ~0xff == 0)
  }

  @Test("sync-old has neither call, and its surfaces can be waited for")
  func syncOld() throws {
    let client = try self.client("sync-old")
    let va = client.display.display
    #expect(vaSyncBuffer(va, VA_INVALID_ID, 0) == VA_STATUS_ERROR_UNIMPLEMENTED)
    #expect(vaSyncSurface2(va, client.input, 0) == VA_STATUS_ERROR_UNIMPLEMENTED)
    try expectDecoded([client.encode(text(1)), client.encode(text(2))])
    let amdClient = try self.client("amd-old")
    let amd = amdClient.display.display
    #expect(vaSyncBuffer(amd, VA_INVALID_ID, 0) == VA_STATUS_ERROR_INVALID_BUFFER)
    #expect(vaSyncSurface2(amd, VA_INVALID_ID, 0) == VA_STATUS_ERROR_UNIMPLEMENTED)
  }

  @Test("segments cut the access unit before each NAL unit, and lose nothing")
  func segments() throws {
    let whole = try client("")
    let cut = try client("segments")
    for seed in 0..<2 {
      let expected = try whole.encode(text(seed)).bytes
      try cut.encode(text(seed))
      let pieces = try cut.codedSegments().pieces
      #expect(Array(pieces.joined()) == expected)
      #expect(pieces.map { types($0) } == types(expected).map { [$0] })
    }
  }

  @Test("no-derive leaves images of the client's own")
  func noDerive() throws {
    let client = try self.client("no-derive")
    var image = VAImage()
    let status = vaDeriveImage(client.display.display, client.input, &image)
    #expect(status == VA_STATUS_ERROR_OPERATION_FAILED)
  }
}
