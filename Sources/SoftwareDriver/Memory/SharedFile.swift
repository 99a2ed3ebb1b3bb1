internal import CLinux
internal import Glibc
internal import Synchronization

/// A file without a name that pixels lie in. Mapped shared, it counts to the addresses of a process
/// and not to its data, and a part of it can be mapped alone.
@safe final class SharedFile {
  private let descriptor: Int32
  /// Descriptors that this process holds for pixels.
  static let openCount = Atomic<Int>(0)

  init(byteCount: Int) throws(DriverError) {
    descriptor = unsafe memfd_create("porthole-driver", UInt32(MFD_CLOEXEC))
    guard descriptor >= 0 else { throw .allocationFailed }
    guard ftruncate(descriptor, byteCount) == 0 else {
      close(descriptor)
      throw .allocationFailed
    }
    Self.openCount.add(1, ordering: .relaxed)
  }

  deinit {
    close(descriptor)
    Self.openCount.subtract(1, ordering: .relaxed)
  }

  /// Maps `byteCount` bytes from `offset` on, a multiple of the page; at `place`, over what was mapped
  /// there, if that is given. The caller unmaps them.
  @unsafe func map(
    offset: Int, byteCount: Int, at place: UnsafeMutableRawPointer? = nil
  ) throws(DriverError) -> UnsafeMutableRawPointer {
    let flags = unsafe place == nil ? MAP_SHARED : MAP_SHARED | MAP_FIXED
    let pages = unsafe mmap(place, byteCount, PROT_READ | PROT_WRITE, flags, descriptor, offset)
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
