internal import CVA

/// A buffer of the client's: parameters it brings, or the coded buffer we fill.
@safe final class DriverBuffer {
  let storage: ByteBlock
  private(set) var type = VAEncCodedBufferType
  /// Bytes of one element, as the client made it.
  private(set) var elementSize = 0
  private(set) var elementCount = 0
  var isMapped = false
  /// The surface behind a derived image's buffer, so that a write to it is noticed.
  var surface: Surface?
  /// When a coded buffer may be read, on the steady clock.
  var readyAt: UInt64 = 0
  /// A coded buffer's answer to `vaMapBuffer`.
  let segments = CodedSegments()

  init(storage: ByteBlock) { self.storage = storage }

  var byteCount: Int { elementSize * elementCount }

  /// Makes the buffer anew for a client.
  func reuse(type: VABufferType, elementSize: Int, elementCount: Int) {
    self.type = type
    self.elementSize = elementSize
    self.elementCount = elementCount
    isMapped = false
    surface = nil
    readyAt = 0
    segments.clear(storage)
  }

  /// Where the client reads and writes; a derived image's pixels are held until `release`.
  @unsafe func hold() throws(DriverError) -> UnsafeMutableRawPointer {
    guard let surface else { return unsafe storage.base }
    return unsafe try surface.pixels.hold()
  }

  func release() { surface?.pixels.release() }

  /// Fewer or as many elements as there is room for.
  func setElementCount(_ count: Int) throws(DriverError) {
    guard count > 0, count * elementSize <= storage.byteCount else { throw .invalidParameter }
    elementCount = count
  }

  /// Reads one parameter structure `offset` bytes into the buffer; refuses a buffer that is too
  /// short for it.
  func value<Value>(as type: Value.Type, at offset: Int = 0) throws(DriverError) -> Value {
    guard byteCount >= offset + MemoryLayout<Value>.size else { throw .invalidBuffer }
    return unsafe storage.base.load(fromByteOffset: offset, as: type)
  }
}

/// Buffers that clients gave back. A picture takes six to twelve of them, so in steady state none is
/// made anew.
struct BufferPool {
  /// ffmpeg's IDR picture holds 12 at once; twice that leaves room for two pictures in flight.
  private static let keptCount = 24
  /// Larger ones (coded buffers, images) live as long as a context and are not worth keeping.
  private static let keptBytes = 64 << 10

  private var kept: [DriverBuffer] = []

  mutating func take(
    type: VABufferType, elementSize: Int, elementCount: Int
  ) throws(DriverError) -> DriverBuffer {
    let (bytes, overflow) = elementSize.multipliedReportingOverflow(by: elementCount)
    guard !overflow, bytes > 0, bytes <= 1 << 28 else { throw .invalidParameter }
    let buffer: DriverBuffer
    let fitting = kept.lastIndex { $0.storage.byteCount >= bytes }
    if let fitting, bytes <= Self.keptBytes {
      buffer = kept.remove(at: fitting)
    } else {
      buffer = DriverBuffer(
        storage: try ByteBlock(byteCount: bytes, isShared: bytes > Self.keptBytes))
    }
    buffer.reuse(type: type, elementSize: elementSize, elementCount: elementCount)
    return buffer
  }

  mutating func give(_ buffer: DriverBuffer) {
    guard kept.count < Self.keptCount, buffer.storage.byteCount <= Self.keptBytes else { return }
    buffer.surface = nil
    kept.append(buffer)
  }
}
