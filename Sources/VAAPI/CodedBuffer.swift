import CVA

/// Where the driver writes an access unit, destroyed with its owner.
package struct CodedBuffer: ~Copyable {
  private let display: Display
  private(set) var id: VABufferID

  /// `byteCount` bounds the largest access unit; a driver that needs more says so by its status.
  package init(for context: borrowing EncodeContext, byteCount: Int) throws(VAError) {
    var id: VABufferID = 0
    try unsafe check(
      vaCreateBuffer(
        context.display.handle, context.id, VAEncCodedBufferType, UInt32(byteCount), 1, nil, &id),
      "vaCreateBuffer")
    display = context.display
    self.id = id
  }

  deinit {
    unsafe vaDestroyBuffer(display.handle, id)
  }

  /// Makes it anew, for want of room or for another context; the old one is given back before, for both
  /// at once may not fit the limit. After an error it holds nothing, and may be made anew again.
  package mutating func remake(
    for context: borrowing EncodeContext, byteCount: Int
  ) throws(VAError) {
    unsafe vaDestroyBuffer(display.handle, id)
    id = VA_INVALID_ID
    try unsafe check(
      vaCreateBuffer(
        display.handle, context.id, VAEncCodedBufferType, UInt32(byteCount), 1, nil, &id),
      "vaCreateBuffer")
  }

  /// Waits for the access unit of `input`, the surface last encoded into this buffer, and maps it.
  package borrowing func map(encodedFrom input: borrowing Surface) throws(VAError)
    -> MappedCodedBuffer
  {
    if display.canSyncBuffers {
      try unsafe check(vaSyncBuffer(display.handle, id, UInt64.max), "vaSyncBuffer")
    } else {
      try input.sync()
    }
    return try MappedCodedBuffer(display: display, id: id)
  }
}

/// What the driver says about an access unit beside its bytes.
package struct CodedStatus: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The slice did not fit the buffer, or the picture its bound. That a picture went over the bit rate
  /// (BITRATE_OVERFLOW) is no harm: it is whole.
  package static let overflow = CodedStatus(
    rawValue: UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK)
      | UInt32(VA_CODED_BUF_STATUS_FRAME_SIZE_OVERFLOW))
  package static let badBitstream = CodedStatus(
    rawValue: UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM))
}

/// An access unit in the driver's memory, mapped for reading until its owner goes.
@safe
package struct MappedCodedBuffer: ~Copyable {
  private let display: Display
  private let id: VABufferID
  private let first: UnsafeMutablePointer<VACodedBufferSegment>?

  fileprivate init(display: Display, id: VABufferID) throws(VAError) {
    var address: UnsafeMutableRawPointer?
    try unsafe check(vaMapBuffer(display.handle, id, &address), "vaMapBuffer")
    self.display = display
    self.id = id
    unsafe first = address?.assumingMemoryBound(to: VACodedBufferSegment.self)
  }

  deinit {
    unsafe vaUnmapBuffer(display.handle, id)
  }

  /// The status words of all segments together.
  package var status: CodedStatus {
    var status: UInt32 = 0
    var segment = unsafe first
    while let current = unsafe segment {
      unsafe status |= current.pointee.status
      unsafe segment = next(of: current)
    }
    return CodedStatus(rawValue: status)
  }

  /// The bytes of each segment in order: some drivers return one for the picture, others one for
  /// each NAL unit. The pointers are good as long as this value lives.
  package func forEachSegment(_ body: (UnsafeRawBufferPointer) -> Void) {
    var segment = unsafe first
    while let current = unsafe segment {
      let head = unsafe current.pointee
      if unsafe head.size > 0, let bytes = unsafe head.buf {
        let start = unsafe bytes + Int(head.bit_offset / 8)
        unsafe body(UnsafeRawBufferPointer(start: start, count: Int(head.size)))
      }
      unsafe segment = next(of: current)
    }
  }

  private func next(
    of segment: UnsafeMutablePointer<VACodedBufferSegment>
  ) -> UnsafeMutablePointer<VACodedBufferSegment>? {
    unsafe segment.pointee.next?.assumingMemoryBound(to: VACodedBufferSegment.self)
  }
}
