import CLinux
import Glibc
import Posix
import Synchronization

/// A block of a buffer's memory, seen read-only; any thread may read it.
///
/// Nothing is mapped but the pages being read, while they are read: a mapping counts against the
/// address-space limit in full, and frames would be most of it.
final class MemoryBlock: Sendable {
  // Unchecked: read-only memory, and its buffer guards its end.
  @safe
  private enum Memory: @unchecked Sendable {
    /// A file that is kept open, by this block or by its buffer, and where the block begins in it.
    case file(fd: Int32, offset: Int)
    /// Memory that libpipewire mapped; it unmaps it when the stream loses the buffer.
    case mapped(UnsafeRawPointer)
  }

  /// How long it is; no reader gets past it.
  let byteCount: Int
  private let memory: Memory
  private let file: OwnedFD?
  /// A device writes to it, past the processor's caches, and its driver maps it from its start whatever
  /// it is asked for (videobuf2-vmalloc, which most webcams use).
  let isDevices: Bool
  private let isDMABuf: Bool
  /// Whether its owner can make the file shorter, and reading it then the process's end.
  private let canShrink: Bool

  /// Duplicates `fd`, which stays the caller's.
  ///
  /// A file that is too short for what is said to lie in it is refused, and kept from getting so where its
  /// owner allows that: reading past its end would be the process's end.
  init(fd: Int32, offset: Int, byteCount: Int, isDevices: Bool = false) throws(PosixError) {
    var status = stat()
    try Posix.check(unsafe fstat(fd, &status), "fstat")
    guard status.st_size >= offset + byteCount else { throw PosixError("fstat", code: ENODATA) }
    let copy = try Posix.check(fcntl(fd, F_DUPFD_CLOEXEC, 3), "F_DUPFD_CLOEXEC")
    let isSealed = linux_seal_against_shrinking(copy)
    memory = .file(fd: copy, offset: offset)
    file = OwnedFD(copy)
    self.byteCount = byteCount
    self.isDevices = isDevices
    isDMABuf = isDevices
    canShrink = !isDevices && !isSealed
  }

  /// A descriptor of the caller's, which keeps it open as long as the block.
  init(dmaBuf fd: Int32) throws(PosixError) {
    byteCount = try Posix.check(lseek(fd, 0, SEEK_END), "lseek")
    memory = .file(fd: fd, offset: 0)
    file = nil
    isDevices = false
    isDMABuf = true
    canShrink = false
  }

  /// Memory that is mapped already.
  init(mapped pointer: UnsafeRawPointer, byteCount: Int) {
    memory = unsafe .mapped(pointer)
    file = nil
    self.byteCount = byteCount
    isDevices = false
    isDMABuf = false
    canShrink = false
  }

  /// Whether its owner may take it away under a reader.
  var isOthersMapping: Bool { if case .mapped = memory { true } else { false } }

  /// Maps these bytes of the block for the time of the call.
  func withBytes(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    guard range.lowerBound >= 0, range.upperBound <= byteCount else { throw .outOfBounds }
    switch memory {
    case .file(let fd, let offset):
      let skipped = isDevices ? range.lowerBound : 0
      let first = offset + range.lowerBound - skipped
      try unsafe mapped(fd, first, skipped + range.count) { bytes in
        unsafe body(UnsafeRawBufferPointer(rebasing: bytes[skipped...]))
      }
    case .mapped(let pointer):
      unsafe body(UnsafeRawBufferPointer(start: pointer + range.lowerBound, count: range.count))
    }
  }

  /// The most that was mapped of such blocks at a time, but for what libpipewire maps itself.
  static var mappedPeakByteCount: Int { mappedPeak.load(ordering: .relaxed) }

  private static let mappedPeak = Atomic(0)

  private func mapped(
    _ fd: Int32, _ offset: Int, _ count: Int, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    var status = stat()
    if canShrink, unsafe fstat(fd, &status) != 0 || status.st_size < offset + count {
      throw .outOfBounds
    }
    let intoPage = offset % pageByteCount
    let length = intoPage + count
    let pages = unsafe mmap(nil, length, PROT_READ, MAP_SHARED, fd, offset - intoPage)
    guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { throw .cannotMap(errno) }
    Self.mappedPeak.max(length, ordering: .relaxed)
    // What a device wrote may lie in caches that the processor does not see.
    if isDMABuf { linux_dma_buf_sync(fd, 0) }
    unsafe body(UnsafeRawBufferPointer(start: pages + intoPage, count: count))
    if isDMABuf { linux_dma_buf_sync(fd, 1) }
    unsafe munmap(pages, length)
  }
}

private let pageByteCount = sysconf(Int32(_SC_PAGESIZE))
