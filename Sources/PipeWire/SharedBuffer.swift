import CLinux
import Glibc
package import Posix
import Synchronization

/// Why the bytes of a buffer cannot be read.
package enum SharedBufferError: Error, Equatable {
  /// Its owner took the buffer away.
  case revoked
  /// The range lies outside the buffer.
  case outOfBounds
  /// mmap failed with this errno.
  case cannotMap(Int32)
}

/// One buffer of pixels in shared memory, seen read-only; any thread may read it.
///
/// Nothing is mapped but the pages being read, while they are read: a mapping counts against the
/// address-space limit in full, and frames would be most of it.
package final class SharedBuffer: Sendable {
  // Unchecked: read-only memory, and `isRevoked` guards its end.
  @safe
  private enum Memory: @unchecked Sendable {
    /// A memfd, kept open by `file`, and where the buffer begins in it.
    case file(fd: Int32, offset: Int)
    /// Memory that libpipewire mapped; it unmaps it when the stream loses the buffer.
    case mapped(UnsafeRawPointer)
  }

  /// How long the buffer is; no reader gets past it.
  package let byteCount: Int
  /// nil when the buffer is a file, or memory, of its owner's processor.
  package let dmaBuf: DMABuf?
  private let memory: Memory
  private let file: OwnedFD?
  private let isRevoked = Mutex(false)
  private let isReturned = Atomic(false)
  private let returned: EventSource

  /// Duplicates `fd`, which stays the caller's. `returned` is signalled by each lease that ends.
  ///
  /// A file that is too short for what is said to lie in it is refused: reading past its end would
  /// be the process's end.
  package init(
    fd: Int32, offset: Int, byteCount: Int, returned: EventSource
  ) throws(PosixError) {
    var status = stat()
    try Posix.check(unsafe fstat(fd, &status), "fstat")
    guard status.st_size >= offset + byteCount else { throw PosixError("fstat", code: ENODATA) }
    let copy = try Posix.check(fcntl(fd, F_DUPFD_CLOEXEC, 3), "F_DUPFD_CLOEXEC")
    self.memory = .file(fd: copy, offset: offset)
    self.file = OwnedFD(copy)
    self.byteCount = byteCount
    self.returned = returned
    dmaBuf = nil
  }

  /// A buffer that a device reads; what of it lies in rows can be read here too.
  package init(_ dmaBuf: DMABuf, returned: EventSource) throws(PosixError) {
    let end = try Posix.check(lseek(dmaBuf.fd, 0, SEEK_END), "lseek")
    memory = .file(fd: dmaBuf.fd, offset: 0)
    file = nil
    byteCount = end
    self.dmaBuf = dmaBuf
    self.returned = returned
  }

  /// Reads memory that is mapped already, until `revoke()`.
  init(mapped pointer: UnsafeRawPointer, byteCount: Int, returned: EventSource) {
    self.memory = unsafe .mapped(pointer)
    self.file = nil
    self.byteCount = byteCount
    self.returned = returned
    dmaBuf = nil
  }

  /// Lends the buffer to one reader; the lease may end on any thread.
  package func lend() -> BufferLease { BufferLease(self) }

  /// Whether a lease has ended since the last call.
  package func collect() -> Bool { isReturned.exchange(false, ordering: .acquiring) }

  /// Waits for a reader of mapped memory to leave it, and lets no other in.
  func revoke() { isRevoked.withLock { $0 = true } }

  fileprivate var isTakenAway: Bool { isRevoked.withLock { $0 } }

  fileprivate func giveBack() {
    isReturned.store(true, ordering: .releasing)
    returned.signal()
  }

  fileprivate func withBytes(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    guard range.lowerBound >= 0, range.upperBound <= byteCount else { throw .outOfBounds }
    switch memory {
    case .file(let fd, let offset):
      try unsafe mapped(fd, offset + range.lowerBound, range.count, body)
    case .mapped(let pointer):
      let wasRevoked = isRevoked.withLock { isRevoked in
        if !isRevoked {
          unsafe body(UnsafeRawBufferPointer(start: pointer + range.lowerBound, count: range.count))
        }
        return isRevoked
      }
      if wasRevoked { throw .revoked }
    }
  }

  /// Whether so much could be mapped now; it is tried.
  package static func canMap(_ byteCount: Int) -> Bool {
    guard byteCount > 0 else { return true }
    let pages = unsafe mmap(nil, byteCount, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { return false }
    unsafe munmap(pages, byteCount)
    return true
  }

  /// The most that was mapped of such buffers at a time, but for what libpipewire maps itself.
  package static var mappedPeakByteCount: Int { mappedPeak.load(ordering: .relaxed) }

  private static let mappedPeak = Atomic(0)

  private func mapped(
    _ fd: Int32, _ offset: Int, _ count: Int, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    let intoPage = offset % pageByteCount
    let length = intoPage + count
    let pages = unsafe mmap(nil, length, PROT_READ, MAP_SHARED, fd, offset - intoPage)
    guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { throw .cannotMap(errno) }
    Self.mappedPeak.max(length, ordering: .relaxed)
    // What a device wrote may lie in caches that the processor does not see.
    if dmaBuf != nil { linux_dma_buf_sync(fd, 0) }
    unsafe body(UnsafeRawBufferPointer(start: pages + intoPage, count: count))
    if dmaBuf != nil { linux_dma_buf_sync(fd, 1) }
    unsafe munmap(pages, length)
  }
}

/// The right to read one buffer, which goes back to its owner when the lease ends.
package struct BufferLease: ~Copyable, Sendable {
  private let buffer: SharedBuffer

  fileprivate init(_ buffer: SharedBuffer) { self.buffer = buffer }

  deinit { buffer.giveBack() }

  package var byteCount: Int { buffer.byteCount }

  /// Its owner took the buffer away.
  package var isRevoked: Bool { buffer.isTakenAway }

  /// The buffer as a device reads it, if it can.
  package var dmaBuf: DMABuf? { buffer.dmaBuf }

  /// Maps these bytes of the buffer for the time of the call.
  package borrowing func withBytes(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    try unsafe buffer.withBytes(range, body)
  }
}

private let pageByteCount = sysconf(Int32(_SC_PAGESIZE))
