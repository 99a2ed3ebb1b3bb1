internal import CVA

/// The NAL units a client brought for one picture, in its order.
struct PackedHeaders {
  /// Far above any parameter sets and SEI; a client that sends more has lost its way.
  private static let largestBytes = 16 << 10

  struct Header {
    let kind: PackedHeaderKinds
    let bytes: Range<Int>
    let bitCount: Int
    /// The client inserted emulation prevention itself.
    let isEscaped: Bool
  }

  private(set) var headers: [Header] = []
  private(set) var bytes: [UInt8] = []
  private var announced: VAEncPackedHeaderParameterBuffer?

  mutating func clear() {
    headers.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    announced = nil
  }

  /// The kinds delivered so far.
  var kinds: PackedHeaderKinds {
    headers.reduce(into: []) { $0.insert($1.kind) }
  }

  /// True while parameters wait for their data.
  var isIncomplete: Bool { announced != nil }

  mutating func announce(
    _ parameters: VAEncPackedHeaderParameterBuffer, offered: PackedHeaderKinds
  ) throws(DriverError) {
    guard announced == nil else {
      throw .invalidParameter.because("a packed header's parameters without its data")
    }
    guard offered.contains(try Self.kind(of: parameters.type)) else {
      throw .invalidParameter.because("a packed header of a kind that is not offered")
    }
    announced = parameters
  }

  /// Takes the data of the header announced before; refuses data nobody announced.
  mutating func append(_ data: UnsafeRawBufferPointer) throws(DriverError) {
    guard let parameters = announced else {
      throw .invalidParameter.because("a packed header's data without its parameters")
    }
    announced = nil
    let bitCount = Int(parameters.bit_length)
    let byteCount = (bitCount + 7) / 8
    // A start code of three or four bytes, the NAL unit byte and one bit are the least.
    guard byteCount > 4, byteCount <= data.count,
      bytes.count + byteCount <= Self.largestBytes
    else { throw .invalidParameter.because("a packed header's bit_length beyond its data") }
    let range = bytes.count..<bytes.count + byteCount
    unsafe bytes.append(contentsOf: data[..<byteCount])
    guard Self.startCodeLength(in: bytes, at: range) != nil else {
      throw .invalidParameter.because("a packed header without a start code")
    }
    let kind = try Self.kind(of: parameters.type)
    let isEscaped = parameters.has_emulation_bytes != 0
    // ffmpeg puts an access unit delimiter before the slice, into the same buffer.
    let last = kind == .slice ? lastStartCode(in: range) : range.lowerBound
    if last > range.lowerBound {
      headers.append(
        Header(
          kind: .raw, bytes: range.lowerBound..<last, bitCount: 8 * (last - range.lowerBound),
          isEscaped: isEscaped))
    }
    headers.append(
      Header(
        kind: kind, bytes: last..<range.upperBound,
        bitCount: bitCount - 8 * (last - range.lowerBound), isEscaped: isEscaped))
  }

  /// Where the last NAL unit of a range begins, its start code included.
  private func lastStartCode(in range: Range<Int>) -> Int {
    var index = range.upperBound - 4
    while index > range.lowerBound {
      if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
        return bytes[index - 1] == 0 ? index - 1 : index
      }
      index -= 1
    }
    return range.lowerBound
  }

  /// Writes every header but the slice's, in the client's order.
  func writeUnits(into sink: inout BitSink) {
    for header in headers where header.kind != .slice {
      if header.isEscaped {
        for index in header.bytes { sink.putRaw(bytes[index]) }
      } else {
        let unit = unit(header)
        sink.beginUnit(header: unit.byte)
        for byte in unit.payload { sink.put(UInt32(byte), bits: 8) }
        sink.flushUnit()
      }
    }
  }

  /// Writes the slice header's NAL unit byte and bits; slice data follows at the next bit.
  /// `payload` lends its memory.
  func writeSliceHeader(_ header: Header, through payload: inout [UInt8], into sink: inout BitSink)
  {
    sink.beginUnit(header: unit(header).byte)
    let bitCount = payloadBits(of: header, into: &payload)
    sink.put(payload, bitCount: bitCount)
  }

  /// The bytes of a header's NAL unit: its header byte, then the payload without emulation
  /// prevention.
  func unit(_ header: Header) -> (byte: UInt8, payload: ArraySlice<UInt8>) {
    let start = header.bytes.lowerBound + (Self.startCodeLength(in: bytes, at: header.bytes) ?? 0)
    return (bytes[start], bytes[(start + 1)..<header.bytes.upperBound])
  }

  /// Puts a header's payload without emulation prevention into `payload`. Answers its bits.
  func payloadBits(of header: Header, into payload: inout [UInt8]) -> Int {
    payload.removeAll(keepingCapacity: true)
    let escaped = unit(header).payload
    var bitCount = header.bitCount - 8 * (escaped.startIndex - header.bytes.lowerBound)
    var zeroCount = 0
    for byte in escaped {
      if header.isEscaped, zeroCount >= 2, byte == 3 {
        zeroCount = 0
        bitCount -= 8
        continue
      }
      zeroCount = byte == 0 ? zeroCount + 1 : 0
      payload.append(byte)
    }
    return bitCount
  }

  private static func startCodeLength(in bytes: [UInt8], at range: Range<Int>) -> Int? {
    let start = range.lowerBound
    guard bytes[start] == 0, bytes[start + 1] == 0 else { return nil }
    if bytes[start + 2] == 1 { return 3 }
    return bytes[start + 2] == 0 && bytes[start + 3] == 1 ? 4 : nil
  }

  private static func kind(of type: UInt32) throws(DriverError) -> PackedHeaderKinds {
    switch type {
    case VAEncPackedHeaderSequence.rawValue: return .sequence
    case VAEncPackedHeaderPicture.rawValue: return .picture
    case VAEncPackedHeaderSlice.rawValue: return .slice
    case VAEncPackedHeaderRawData.rawValue: return .raw
    default:
      guard type & 0x8000_0000 != 0 else { throw .invalidParameter }
      return .misc
    }
  }
}
