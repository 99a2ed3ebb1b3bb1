internal import Glibc

/// A small text file, read and written at once.
package enum TextFile {
  /// The text at `path`; throws EFBIG beyond `limit` bytes, EILSEQ when it is not UTF-8, and EINVAL where a
  /// pipe stands in its place, which could keep a reader waiting for ever, unless it `mayWait`.
  package static func read(
    _ path: String, limit: Int, mayWait: Bool = false
  ) throws(PosixError) -> String {
    let file = OwnedFD(
      try check(
        unsafe open(path, O_RDONLY | O_CLOEXEC | (mayWait ? 0 : O_NONBLOCK)), "open \(path)"))
    var status = stat()
    try check(unsafe fstat(file.raw, &status), "fstat \(path)")
    guard mayWait || status.st_mode & S_IFMT != S_IFIFO else {
      throw PosixError("read \(path)", code: EINVAL)
    }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Int(
        try check(
          unsafe piece.withUnsafeMutableBytes {
            unsafe Glibc.read(file.raw, $0.baseAddress, $0.count)
          }, "read \(path)"))
      guard count > 0 else { break }
      bytes += piece.prefix(count)
      guard bytes.count <= limit else { throw PosixError("read \(path)", code: EFBIG) }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw PosixError("read \(path)", code: EILSEQ)
    }
    return text
  }

  /// Puts `text` into a file of mode 0600, written whole under another name first: who reads it never
  /// finds half of it.
  package static func keep(_ text: [UInt8], at path: String) throws(PosixError) {
    let draft = "\(path).\(getpid())"
    _ = unsafe unlink(draft)
    let file = OwnedFD(
      try check(unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600), "open \(draft)")
    )
    defer { _ = unsafe unlink(draft) }
    let written = unsafe text.withUnsafeBytes { unsafe write(file.raw, $0.baseAddress, $0.count) }
    guard written == text.count else { throw PosixError("write \(draft)") }
    try check(unsafe rename(draft, path), "rename \(path)")
  }
}
