import COpenSSL
import Glibc
import Posix

/// PEM text, and the files it is kept in.
enum PEM {
  /// What `write` puts into a memory of OpenSSL's; it returns 1 when it could.
  static func text(_ write: (OpaquePointer) -> Int32) throws(TLSError) -> [UInt8] {
    let memory = try unsafe checkTLS(BIO_new(BIO_s_mem()), "BIO_new")
    defer { unsafe BIO_free(memory) }
    try unsafe checkTLS(write(memory), "PEM")
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe BIO_read(memory, &bytes, Int32(bytes.count))
    try checkTLS(count, "BIO_read")
    return Array(bytes.prefix(Int(count)))
  }

  /// Puts `text` into a file of mode 0600, written whole under another name first: who reads it never
  /// finds half of it.
  static func keep(_ text: [UInt8], at path: String) throws(PosixError) {
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
