internal import Glibc

/// A surface's pixels: mapped for good where they are few, and else only while somebody looks.
@safe final class SurfacePixels {
  /// Three surfaces of 1080p stay mapped within 50 MiB of addresses; three of 1440p would not fit.
  static let keptByteCount = 4 << 20

  let byteCount: Int
  let file: SharedFile
  /// Whether the pixels stay mapped.
  let isKept: Bool
  private var base: UnsafeMutableRawPointer?
  private var holders = 0

  /// Pixels in a file of their own.
  init(byteCount: Int, keptByteCount: Int) throws(DriverError) {
    self.byteCount = byteCount
    file = try SharedFile(byteCount: wholePages(byteCount))
    isKept = byteCount <= keptByteCount
    if isKept { _ = unsafe try hold() }
  }

  /// Pixels in a client's file, which are never kept: a client imports as many as its source has.
  init(byteCount: Int, in file: SharedFile) {
    self.byteCount = byteCount
    self.file = file
    isKept = false
  }

  deinit { if let base = unsafe base { unsafe munmap(base, byteCount) } }

  /// Maps all pixels, until as many calls of `release`.
  @unsafe func hold() throws(DriverError) -> UnsafeMutableRawPointer {
    if unsafe base == nil {
      unsafe base = try file.map(offset: 0, byteCount: byteCount)
      file.beginAccess()
    }
    guard let base = unsafe base else { throw .allocationFailed }
    holders += 1
    return unsafe base
  }

  /// Ends one `hold`; the last one unmaps what is not kept.
  func release() {
    holders -= 1
    guard holders == 0, let base = unsafe base else { return }
    file.endAccess()
    unsafe munmap(base, byteCount)
    unsafe self.base = nil
  }
}
