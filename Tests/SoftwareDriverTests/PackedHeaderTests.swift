import Bitstream
import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// A client's own headers are taken as they are, and refused where they contradict its structures.
struct PackedHeaderTests {
  private let width = 64
  private let height = 48
  private let promised = UInt32(VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_SLICE)

  /// The headers of one client, which a test may spoil before they are sent.
  private struct Headers {
    var sequence: SequenceParameterSet
    var picture = PictureParameterSet(initialQP: 26)
    var slice: SliceHeader
    var nal: NALUnitHeader
    /// What stands before the slice in its own buffer.
    var prefix: [UInt8] = []
    var extraBits = 0
    /// Counts the ones that align CABAC's data to the slice header.
    var countsAlignment = false

    init(client: DriverClient, isIDR: Bool) {
      sequence = SequenceParameterSet(
        profileIDC: 66, constraintFlags: 0xc0, levelIDC: 40,
        widthInMacroblocks: UInt32(client.columns), heightInMacroblocks: UInt32(client.rows))
      sequence.vui = VideoUsability(colour: .bt709, timing: nil, restriction: nil)
      slice = SliceHeader(type: isIDR ? .i : .p, frameNum: UInt32(client.frameNum), qpDelta: 0)
      nal = NALUnitHeader(type: isIDR ? .sliceIDR : .slice, refIDC: 1)
      if isIDR { slice.frameNum = 0 }
    }

    var sets: [UInt8] {
      AnnexB.unit(.init(type: .sequenceParameterSet, refIDC: 3), rbsp: sequence.rbsp())
        + AnnexB.unit(.init(type: .pictureParameterSet, refIDC: 3), rbsp: picture.rbsp())
    }

    var packed: [PackedHeader] {
      var bits = BitWriter()
      slice.write(to: &bits, nal: nal, sequence: sequence, picture: picture)
      while countsAlignment, bits.bitCount & 7 != 0 { bits.put(true) }
      let bitCount = bits.bitCount + extraBits
      bits.put(0, bits: 16)
      bits.alignWithZeros()
      let rbsp = Array(bits.bytes[..<((bitCount + 7) / 8)])
      let unit = prefix + AnnexB.unit(nal, rbsp: rbsp)
      let length = (unit.count - rbsp.count) * 8 + bitCount
      let header = PackedHeader(type: VAEncPackedHeaderSlice, bytes: unit, bitLength: length)
      guard nal.type == .sliceIDR else { return [header] }
      return [PackedHeader(type: VAEncPackedHeaderSequence, bytes: sets), header]
    }
  }

  /// Codes a picture with headers of the client's own.
  private func encode(
    _ client: DriverClient, seed: UInt64 = 1, isIDR: Bool,
    _ spoil: (inout Headers) -> Void = { _ in }
  ) throws -> CodedPicture {
    var headers = Headers(client: client, isIDR: isIDR)
    spoil(&headers)
    let picture = Picture.text(width: width, height: height, seed: seed)
    return try client.encode(picture, isIDR: isIDR, headers: headers.packed)
  }

  private func client() throws -> DriverClient {
    try DriverClient(width: width, height: height, promisedHeaders: promised)
  }

  @Test("the stream has the client's headers, and decodes")
  func taken() throws {
    let client = try client()
    var headers = Headers(client: client, isIDR: true)
    let first = try encode(client, isIDR: true)
    #expect(first.bytes.starts(with: headers.sets))
    let second = try encode(client, seed: 2, isIDR: false) {
      $0.prefix = AnnexB.startCode + [0x09, 0x30]
      headers = $0
    }
    #expect(second.bytes.starts(with: headers.prefix + AnnexB.startCode + [headers.nal.byte]))
    let decoded = try DecodedStream(first.bytes + second.bytes, width: width, height: height)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures == [first.reconstruction, second.reconstruction])
  }

  @Test("CABAC's alignment may stand in the client's slice header", arguments: [false, true])
  func alignment(counts: Bool) throws {
    let client = try DriverClient(
      width: width, height: height, profile: VAProfileH264Main, promisedHeaders: promised)
    client.adjust = { $0.picture.pic_fields.bits.entropy_coding_mode_flag = 1 }
    func encode(isIDR: Bool, extraBits: Int = 0) throws -> CodedPicture {
      try self.encode(client, seed: isIDR ? 1 : 2, isIDR: isIDR) {
        $0.picture.usesCABAC = true
        $0.countsAlignment = counts
        $0.extraBits = extraBits
      }
    }
    let pictures = try [true, false, false].map { try encode(isIDR: $0) }
    let decoded = try DecodedStream(pictures.flatMap(\.bytes), width: width, height: height)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures == pictures.map(\.reconstruction))
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) {
      try encode(isIDR: false, extraBits: 8)
    }
  }

  @Test("a payload without emulation prevention gets it")
  func unescaped() throws {
    let client = try DriverClient(width: width, height: height)
    // SEI with user data of zeros, trailing bits at its end.
    let payload: [UInt8] = [5, 20] + [UInt8](repeating: 0, count: 20) + [0x80]
    let header = PackedHeader(
      type: VAEncPackedHeaderRawData, bytes: AnnexB.startCode + [0x06] + payload,
      isEscaped: false)
    let coded = try client.encode(Picture(width: width, height: height), headers: [header])
    let sei = AnnexB.unit(.init(type: .sei, refIDC: 0), rbsp: payload)
    #expect(coded.bytes.indices.contains { coded.bytes[$0...].starts(with: sei) })
  }

  @Test("headers that contradict the parameters are refused")
  func contradictions() throws {
    let client = try client()
    let spoilers: [(inout Headers) -> Void] = [
      { $0.sequence.widthInMacroblocks += 1 },
      { $0.sequence.log2MaxFrameNum = 9 },
      { $0.sequence.heightInMacroblocks -= 1 },
      { $0.sequence.levelIDC = 31 },
      { $0.sequence.cropBottom = 2 },
      { $0.sequence.pictureOrder = .lsb(log2Max: 4) },
      { $0.picture.initialQP = 27 },
      { $0.picture.usesCABAC = true },
      { $0.picture.chromaQPOffset = 1 },
      { $0.picture.hasDeblockingControl = false },
      { $0.slice.frameNum = 1 },
      { $0.slice.idrPictureID = 1 },
      { $0.slice.qpDelta = 1 },
      { $0.slice.disableDeblocking = 1 },
      { $0.slice.type = .p },
      { $0.nal.type = .slice },
      { $0.extraBits = 3 },
    ]
    for (index, spoil) in spoilers.enumerated() {
      #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER), "mistake \(index)") {
        try encode(client, isIDR: true, spoil)
      }
    }
    _ = try encode(client, isIDR: true)
  }

  @Test("a promised header has to come, with its parameters and its bytes")
  func promises() throws {
    let client = try client()
    let whole = Headers(client: client, isIDR: true).packed
    var withoutData = whole
    withoutData[1].bytes = nil
    var withoutParameters = whole
    withoutParameters[1].parameters = nil
    var tooLong = whole
    tooLong[1].parameters?.bit_length += 800
    let picture = Picture(width: width, height: height)
    for headers in [[], [whole[0]], [whole[1]], withoutData, withoutParameters, tooLong] {
      #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_PARAMETER)) {
        try client.encode(picture, headers: headers)
      }
    }
    try client.encode(picture, headers: whole)
  }
}
