import CVA

/// The buffers that describe one picture, in the order in which they are given to the driver, and
/// destroyed with their owner.
package struct ParameterBuffers: ~Copyable {
  /// An IDR picture takes ten: sequence, three of rate control, picture, two packed headers with
  /// their data, slice. A fixed array, so that a picture allocates nothing of ours.
  private static var capacity: Int { 16 }

  private let display: Display
  private let context: VAContextID
  private var ids = InlineArray<16, VABufferID>(repeating: VA_INVALID_ID)
  private var count = 0

  package init(for context: borrowing EncodeContext) {
    display = context.display
    self.context = context.id
  }

  deinit {
    for index in 0..<count { unsafe vaDestroyBuffer(display.handle, ids[index]) }
  }

  /// Adds a buffer that holds a copy of `value`, one of libva's parameter structures.
  mutating func add<Value>(_ value: Value, type: VABufferType) throws(VAError) {
    var value = value
    try unsafe withUnsafeMutableBytes(of: &value) { (bytes) throws(VAError) in
      try unsafe add(type: type, byteCount: bytes.count, data: bytes.baseAddress)
    }
  }

  /// Adds a buffer that holds a copy of `value` behind the header of its kind of miscellany.
  mutating func addMiscellaneous<Value>(
    _ value: Value, kind: VAEncMiscParameterType
  ) throws(VAError) {
    let head = MemoryLayout<VAEncMiscParameterBuffer>.size
    let byteCount = head + MemoryLayout<Value>.size
    try unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) {
      (bytes: UnsafeMutableRawBufferPointer) throws(VAError) in
      unsafe bytes.storeBytes(of: kind.rawValue, as: UInt32.self)
      unsafe withUnsafeBytes(of: value) { value in
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[head...]).copyMemory(from: value)
      }
      try unsafe add(
        type: VAEncMiscParameterBufferType, byteCount: byteCount, data: bytes.baseAddress)
    }
  }

  mutating func add(
    type: VABufferType, byteCount: Int, data: UnsafeMutableRawPointer?
  ) throws(VAError) {
    precondition(count < Self.capacity, "a picture takes at most \(Self.capacity) buffers")
    try unsafe check(
      vaCreateBuffer(display.handle, context, type, UInt32(byteCount), 1, data, &ids[count]),
      "vaCreateBuffer")
    count += 1
  }

  /// The identifiers in order, and how many they are.
  mutating func withIDs(
    _ body: (UnsafeMutablePointer<VABufferID>?, Int32) throws(VAError) -> Void
  ) throws(VAError) {
    let count = Int32(count)
    var span = ids.mutableSpan
    try unsafe span.withUnsafeMutableBufferPointer { (ids) throws(VAError) in
      try unsafe body(ids.baseAddress, count)
    }
  }
}
