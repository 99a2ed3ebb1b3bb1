internal import CLinux
internal import Glibc

/// A file that lies in memory alone: what a child reads whole, or writes.
package struct MemoryFile: ~Copyable {
  /// For the child; both see one position.
  package var descriptor: Int32 { file.raw }
  private let file: OwnedFD

  package init() throws(PosixError) {
    file = OwnedFD(
      try check(unsafe memfd_create("porthole-file", UInt32(MFD_CLOEXEC)), "memfd_create"))
  }

  /// Puts `bytes` behind what is there.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(PosixError) {
    guard unsafe write(file.raw, bytes.baseAddress, bytes.count) == bytes.count else {
      throw PosixError("write to memory")
    }
  }

  /// Back to the beginning, for who reads next.
  package func rewind() { lseek(file.raw, 0, SEEK_SET) }

  /// All of it, `limit` bytes at most; nil when it is longer.
  package func contents(limit: Int) -> [UInt8]? {
    let count = Int(lseek(file.raw, 0, SEEK_END))
    guard count >= 0, count <= limit else { return nil }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      unsafe filled = max(0, pread(file.raw, bytes.baseAddress, count, 0))
    }
  }
}
