import COpenSSL
import Glibc
import Posix

/// An X.509 certificate.
@safe final class Certificate {
  let x509: OpaquePointer

  /// Takes over a certificate of OpenSSL's.
  init(owning x509: OpaquePointer) { unsafe self.x509 = x509 }

  /// The first certificate of a PEM file.
  init(file path: String) throws(TLSError) {
    let file = try unsafe checkTLS(BIO_new_file(path, "r"), path)
    defer { unsafe BIO_free(file) }
    unsafe x509 = try checkTLS(unsafe PEM_read_bio_X509(file, nil, nil, nil), path)
  }

  /// SHA-256 of all of it, as browsers show it: `AB:CD:…`.
  var fingerprint: String {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    unsafe X509_digest(x509, EVP_sha256(), &digest, &count)
    return digest.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined(separator: ":")
  }

  /// Whether it still holds for `seconds`, and holds already.
  func isValid(for seconds: Int) -> Bool {
    var end = time_t(seconds) + time(nil)
    return unsafe X509_cmp_time(X509_get0_notAfter(x509), &end) > 0
      && X509_cmp_current_time(X509_get0_notBefore(x509)) < 0
  }

  /// Whether a browser takes it for each of these.
  func isFor(addresses: [SocketAddress], names: [String]) -> Bool {
    addresses.allSatisfy { unsafe X509_check_ip_asc(x509, $0.host, 0) == 1 }
      && names.allSatisfy { unsafe X509_check_host(x509, $0, $0.utf8.count, 0, nil) == 1 }
  }

  /// It alone, without a key.
  func pem() throws(TLSError) -> [UInt8] {
    try unsafe PEM.text { unsafe PEM_write_bio_X509($0, x509) }
  }

  static func == (one: Certificate, other: Certificate) -> Bool {
    unsafe X509_cmp(one.x509, other.x509) == 0
  }

  deinit { unsafe X509_free(x509) }
}
