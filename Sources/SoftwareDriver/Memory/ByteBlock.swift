internal import Glibc

/// Pages of zeroed memory, given back with the last reference.
@safe final class ByteBlock {
  let base: UnsafeMutableRawPointer
  let byteCount: Int
  private let file: SharedFile?

  /// Maps whole pages, so that a block's end is the kernel's to guard and never the heap's. A shared
  /// block does not count to the data of the process.
  init(byteCount: Int, isShared: Bool = false) throws(DriverError) {
    let rounded = wholePages(byteCount)
    self.byteCount = rounded
    if isShared {
      let file = try SharedFile(byteCount: rounded)
      unsafe base = try file.map(offset: 0, byteCount: rounded)
      self.file = file
    } else {
      let mapped = unsafe mmap(
        nil, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
        throw .allocationFailed
      }
      unsafe base = mapped
      file = nil
    }
  }

  deinit { _ = unsafe munmap(base, byteCount) }
}
