import COpenSSL
import Glibc

/// PEM text.
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
}
