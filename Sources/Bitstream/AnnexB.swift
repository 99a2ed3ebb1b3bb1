/// The byte stream format of annex B: NAL units behind start codes.
package enum AnnexB {
  package static let startCode: [UInt8] = [0, 0, 0, 1]

  /// A NAL unit with its start code, its header and its escaped `rbsp`.
  package static func unit(_ header: NALUnitHeader, rbsp: [UInt8]) -> [UInt8] {
    startCode + [header.byte] + EmulationPrevention.inserted(into: rbsp.span)
  }

  /// Where each NAL unit lies in `stream`, from its header byte to its last byte. Zeros that trail
  /// a unit belong to none; bytes before the first start code are passed over.
  package static func units(in stream: Span<UInt8>) -> [Range<Int>] {
    var units: [Range<Int>] = []
    var begin: Int?
    var index = 0
    while let code = nextStartCode(in: stream, from: index) {
      if let begin { units.append(begin..<end(of: stream, from: begin, to: code)) }
      begin = code + 3
      index = code + 3
    }
    if let begin, begin < stream.count {
      units.append(begin..<end(of: stream, from: begin, to: stream.count))
    }
    return units.filter { !$0.isEmpty }
  }

  /// The index of the next 00 00 01 at or after `from`.
  private static func nextStartCode(in stream: Span<UInt8>, from: Int) -> Int? {
    var index = from
    while index + 3 <= stream.count {
      // Looked at backwards, three bytes that cannot hold a start code are left in one step.
      if stream[index + 2] > 1 {
        index += 3
      } else if stream[index] == 0, stream[index + 1] == 0, stream[index + 2] == 1 {
        return index
      } else {
        index += 1
      }
    }
    return nil
  }

  private static func end(of stream: Span<UInt8>, from begin: Int, to limit: Int) -> Int {
    var end = limit
    while end > begin, stream[end - 1] == 0 { end -= 1 }
    return end
  }
}
