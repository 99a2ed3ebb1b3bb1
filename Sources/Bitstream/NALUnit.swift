/// nal_unit_type, table 7-1; the ones that an encoder without partitions writes.
package enum NALUnitType: UInt8, Sendable {
  case slice = 1
  case sliceIDR = 5
  case sei = 6
  case sequenceParameterSet = 7
  case pictureParameterSet = 8
  case accessUnitDelimiter = 9
  case endOfSequence = 10
  case endOfStream = 11
  case fillerData = 12
}

/// The first byte of a NAL unit, clause 7.3.1.
package struct NALUnitHeader: Equatable, Sendable {
  package var type: NALUnitType
  /// nal_ref_idc, 0 to 3.
  package var refIDC: UInt8

  package init(type: NALUnitType, refIDC: UInt8) {
    self.type = type
    self.refIDC = refIDC
  }

  package init(byte: UInt8) throws(BitstreamError) {
    guard byte & 0x80 == 0 else { throw .invalid("forbidden_zero_bit") }
    guard let type = NALUnitType(rawValue: byte & 0x1f) else { throw .unsupported("nal_unit_type") }
    self.init(type: type, refIDC: byte >> 5 & 3)
  }

  package var byte: UInt8 { refIDC << 5 | type.rawValue }
}

/// A NAL unit's payload and its bytes on the way, clause 7.4.1.1.
package enum EmulationPrevention {
  /// `rbsp` with a 3 put in wherever two zeros are followed by a byte of 0 to 3.
  package static func inserted(into rbsp: Span<UInt8>) -> [UInt8] {
    var escaped: [UInt8] = []
    escaped.reserveCapacity(rbsp.count + 16)
    var zeros = 0
    for index in rbsp.indices {
      let byte = rbsp[index]
      if zeros == 2, byte <= 3 {
        escaped.append(3)
        zeros = 0
      }
      escaped.append(byte)
      zeros = byte == 0 ? zeros + 1 : 0
    }
    return escaped
  }

  /// `payload` without its emulation prevention bytes: the RBSP.
  package static func removed(from payload: Span<UInt8>) -> [UInt8] {
    var rbsp: [UInt8] = []
    rbsp.reserveCapacity(payload.count)
    var zeros = 0
    for index in payload.indices {
      let byte = payload[index]
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      rbsp.append(byte)
      zeros = byte == 0 ? zeros + 1 : 0
    }
    return rbsp
  }
}
