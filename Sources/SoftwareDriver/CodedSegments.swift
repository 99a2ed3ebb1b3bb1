internal import CVA

/// What a client walks through after it mapped a coded buffer: the access unit in one piece, or one
/// piece for each NAL unit.
@safe final class CodedSegments {
  /// Parameter sets, a delimiter, SEI and the slice are fewer; the last takes what is left.
  private static let capacity = 8

  let first: UnsafeMutablePointer<VACodedBufferSegment>

  init() {
    unsafe first = .allocate(capacity: Self.capacity)
    unsafe first.initialize(repeating: VACodedBufferSegment(), count: Self.capacity)
  }

  deinit { unsafe first.deallocate() }

  /// No bytes of `storage`, nothing wrong with them.
  func clear(_ storage: ByteBlock) { put(0, of: storage, status: 0) }

  /// The first `byteCount` bytes of `storage`, in one piece.
  func put(_ byteCount: Int, of storage: ByteBlock, status: UInt32) {
    unsafe first[0] = Self.segment(storage, 0..<byteCount, status: status)
  }

  /// The same, cut before each start code.
  func putUnits(_ byteCount: Int, of storage: ByteBlock, status: UInt32) {
    let bytes = unsafe storage.base.assumingMemoryBound(to: UInt8.self)
    var starts: [Int] = []
    for index in 0..<max(0, byteCount - 3) where starts.count < Self.capacity {
      if unsafe bytes[index] == 0, unsafe bytes[index + 1] == 0, unsafe bytes[index + 2] == 0,
        unsafe bytes[index + 3] == 1
      {
        starts.append(index)
      }
    }
    guard starts.count > 1 else { return put(byteCount, of: storage, status: status) }
    starts[0] = 0
    for (index, start) in starts.enumerated() {
      let isLast = index == starts.count - 1
      let end = isLast ? byteCount : starts[index + 1]
      unsafe first[index] = Self.segment(storage, start..<end, status: status)
      if !isLast { unsafe first[index].next = UnsafeMutableRawPointer(first + index + 1) }
    }
  }

  private static func segment(
    _ storage: ByteBlock, _ bytes: Range<Int>, status: UInt32
  ) -> VACodedBufferSegment {
    var segment = unsafe VACodedBufferSegment()
    unsafe segment.buf = storage.base + bytes.lowerBound
    unsafe segment.size = UInt32(bytes.count)
    unsafe segment.status = status
    return unsafe segment
  }
}
