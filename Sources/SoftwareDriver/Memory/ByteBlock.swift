internal import Glibc

/// Pages of zeroed memory, given back with the last reference.
@safe final class ByteBlock {
  let base: UnsafeMutableRawPointer
  let byteCount: Int

  /// Maps whole pages, so that a block's end is the kernel's to guard and never the heap's.
  init(byteCount: Int) throws(DriverError) {
    let page = 4096
    let rounded = (max(byteCount, 1) + page - 1) & ~(page - 1)
    let mapped = unsafe mmap(
      nil, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else { throw .allocationFailed }
    unsafe base = mapped
    self.byteCount = rounded
  }

  deinit { _ = unsafe munmap(base, byteCount) }
}
