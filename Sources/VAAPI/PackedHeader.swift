import CVA

extension ParameterBuffers {
  /// Adds SPS and PPS as the driver is to write them: `bytes` with start codes, already escaped.
  package mutating func addPackedSequence(_ bytes: [UInt8]) throws(VAError) {
    try addPacked(VAEncPackedHeaderSequence, bytes: bytes.span, bitLength: bytes.count * 8)
  }

  /// Adds the slice's header, `bitLength` bits from its start code to where slice data begins,
  /// already escaped.
  package mutating func addPackedSlice(_ bytes: Span<UInt8>, bitLength: Int) throws(VAError) {
    try addPacked(VAEncPackedHeaderSlice, bytes: bytes, bitLength: bitLength)
  }

  private mutating func addPacked(
    _ type: VAEncPackedHeaderType, bytes: Span<UInt8>, bitLength: Int
  ) throws(VAError) {
    var head = VAEncPackedHeaderParameterBuffer()
    head.type = type.rawValue
    head.bit_length = UInt32(bitLength)
    head.has_emulation_bytes = 1
    try add(head, type: VAEncPackedHeaderParameterBufferType)
    try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(VAError) in
      try unsafe add(
        type: VAEncPackedHeaderDataBufferType, byteCount: bytes.count,
        data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
  }
}
