import Glibc
import Posix

/// An open recording, read in pieces by threads beside the loop.
final class RecordingFile: Sendable {
  /// As it was when it was opened.
  let byteCount: Int
  let mediaType: String

  private let file: OwnedFD

  init(_ file: consuming OwnedFD, byteCount: Int, mediaType: String) {
    self.file = file
    self.byteCount = byteCount
    self.mediaType = mediaType
  }

  /// At most `count` bytes from `offset` on; nil where they cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = unsafe max(0, pread(file.raw, buffer.baseAddress, count, off_t(offset)))
    }
    return bytes.isEmpty ? nil : bytes
  }
}
