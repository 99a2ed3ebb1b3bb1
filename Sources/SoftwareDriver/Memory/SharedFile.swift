internal import CLinux
internal import Glibc
internal import Synchronization

/// A file that pixels lie in: one without a name of our own, or a dma-buf that a client brought. Mapped
/// shared, it counts to the addresses of a process and not to its data, and a part of it can be mapped
/// alone.
@safe final class SharedFile {
  let descriptor: Int32
  /// Whether it may be written, which what a client brought need not.
  let isWritable: Bool
  /// Whether the processor's caches have to be told of each access.
  private let isDMABuf: Bool
  /// Descriptors that this process holds for pixels.
  static let openCount = Atomic<Int>(0)

  /// A memfd of so many bytes.
  init(byteCount: Int) throws(DriverError) {
    descriptor = unsafe memfd_create("porthole-driver", UInt32(MFD_CLOEXEC))
    guard descriptor >= 0 else { throw .allocationFailed }
    guard ftruncate(descriptor, byteCount) == 0 else {
      close(descriptor)
      throw .allocationFailed
    }
    isWritable = true
    isDMABuf = false
    Self.openCount.add(1, ordering: .relaxed)
  }

  /// Another descriptor of a client's file, which holds at least `byteCount` bytes; the client's own
  /// stays its own.
  init(of clients: Int32, byteCount: Int) throws(DriverError) {
    let size = lseek(clients, 0, SEEK_END)
    guard size >= byteCount else {
      throw .invalidParameter.because("a plane beyond the end of its object, or no such object")
    }
    descriptor = fcntl(clients, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .allocationFailed }
    let probe = unsafe mmap(
      nil, pageByteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    isWritable = unsafe probe != MAP_FAILED
    if unsafe probe != MAP_FAILED { unsafe munmap(probe, pageByteCount) }
    isDMABuf = linux_dma_buf_sync(descriptor, 0) == 0
    if isDMABuf { linux_dma_buf_sync(descriptor, 1) }
    Self.openCount.add(1, ordering: .relaxed)
  }

  deinit {
    close(descriptor)
    Self.openCount.subtract(1, ordering: .relaxed)
  }

  /// Between `beginAccess` and `endAccess` the processor sees what the device wrote.
  func beginAccess() { if isDMABuf { linux_dma_buf_sync(descriptor, 0) } }
  func endAccess() { if isDMABuf { linux_dma_buf_sync(descriptor, 1) } }

  /// Maps `byteCount` bytes from `offset` on, a multiple of the page; at `place`, over what was mapped
  /// there, if that is given. The caller unmaps them.
  @unsafe func map(
    offset: Int, byteCount: Int, at place: UnsafeMutableRawPointer? = nil
  ) throws(DriverError) -> UnsafeMutableRawPointer {
    let flags = unsafe place == nil ? MAP_SHARED : MAP_SHARED | MAP_FIXED
    let access = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
    let pages = unsafe mmap(place, byteCount, access, flags, descriptor, offset)
    guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { throw .allocationFailed }
    return unsafe pages
  }
}

/// The kernel maps whole pages.
let pageByteCount = 4096

/// `byteCount` in whole pages.
func wholePages(_ byteCount: Int) -> Int {
  (max(byteCount, 1) + pageByteCount - 1) & ~(pageByteCount - 1)
}
