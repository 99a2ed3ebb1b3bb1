import COpenSSL
import Posix

/// A blocking TLS connection to the one server that has a certificate we know.
///
/// That certificate is the proof; no authority is asked.
@safe final class PinnedConnection {
  private let socket: OwnedFD
  private let ssl: OpaquePointer

  /// `socket` is connected, and blocks. Throws when another certificate is shown.
  init(_ socket: consuming OwnedFD, to certificate: Certificate) throws(TLSError) {
    let context = try unsafe checkTLS(SSL_CTX_new(TLS_client_method()), "SSL_CTX_new")
    defer { unsafe SSL_CTX_free(context) }
    let ssl = try unsafe checkTLS(SSL_new(context), "SSL_new")
    self.socket = socket
    unsafe self.ssl = ssl
    try unsafe checkTLS(SSL_set_fd(ssl, self.socket.raw), "SSL_set_fd")
    try unsafe checkTLS(SSL_connect(ssl), "TLS handshake")
    guard let shown = unsafe SSL_get1_peer_certificate(ssl),
      unsafe Certificate(owning: shown) == certificate
    else { throw TLSError("its certificate is another one") }
  }

  /// Sends all of `bytes`.
  func send(_ bytes: [UInt8]) throws(TLSError) {
    // Without SSL_MODE_ENABLE_PARTIAL_WRITE a blocking write is whole.
    try unsafe checkTLS(SSL_write(ssl, bytes, Int32(bytes.count)), "TLS write")
  }

  /// All that comes until the other side ends.
  func receiveAll() -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16_384)
    while case let count = unsafe SSL_read(ssl, &piece, Int32(piece.count)), count > 0 {
      bytes += piece.prefix(Int(count))
    }
    return bytes
  }

  deinit { unsafe SSL_free(ssl) }
}
