import COpenSSL
import Glibc
import Posix

/// How the HTTP port shall come by its certificate.
enum TLSChoice: Equatable {
  /// One that vouches for itself, made at the first start.
  case made
  /// PEM files of the user's: the chain, the server's own first, and its key.
  case given(certificate: String, key: String)
}

/// Certificate and key of the HTTP port.
struct TLSIdentity {
  /// PEM; both may be one file.
  let certificateFile: String
  let keyFile: String
  let certificate: Certificate

  /// `address` is what will be bound, `hosts` what `--host` says; `directory` serves a user without
  /// a home.
  init(
    _ choice: TLSChoice, for address: SocketAddress, hosts: [String], directory: RuntimeDirectory
  ) throws {
    switch choice {
    case .given(let certificate, let key):
      try Self.check(certificate, key)
      (certificateFile, keyFile) = (certificate, key)
      self.certificate = try Certificate(file: certificate)
    case .made:
      let file = StateDirectory.file("tls.pem") ?? directory.file("tls.pem")
      var addresses = LocalAddresses.reaching(address).filter { !$0.isLoopback }
      for own in ["127.0.0.1:0", "[::1]:0"] + hosts.map({ "\($0):0" }) {
        if let own = SocketAddress(own) { addresses.append(own) }
      }
      let names = [LocalAddresses.hostName, "localhost"] + hosts.map { $0.lowercased() }
      certificate = try SelfSignedCertificate.kept(
        at: file, addresses: addresses, names: names.filter(Self.isName))
      (certificateFile, keyFile) = (file, file)
    }
  }

  /// Leaves the certificate where `host-relay ctl` of the same user finds it, or takes away what an
  /// earlier relay left there; nil: this one speaks no TLS.
  static func publish(_ identity: TLSIdentity?, port: UInt16, in directory: RuntimeDirectory) throws
  {
    let file = published(port: port, in: directory)
    if let identity {
      try TextFile.keep(identity.certificate.pem(), at: file)
    } else {
      _ = unsafe unlink(file)
    }
  }

  /// Where the certificate of a relay of this user lies that listens on `port`.
  static func published(port: UInt16, in directory: RuntimeDirectory) -> String {
    directory.file("certificate-\(port).pem")
  }

  /// What a certificate can name: letters, digits, hyphens and dots, and not only numbers.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && SocketAddress("\(text):0") == nil
      && text.utf8.allSatisfy {
        (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46
      }
  }

  /// Says which file is at fault, and why; libwebsockets would only say that it cannot.
  static func check(_ certificate: String, _ key: String) throws(TLSError) {
    let context = try unsafe checkTLS(SSL_CTX_new(TLS_server_method()), "SSL_CTX_new")
    defer { unsafe SSL_CTX_free(context) }
    // A key behind a passphrase is none for a program that runs alone.
    unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    try unsafe checkTLS(SSL_CTX_use_certificate_chain_file(context, certificate), certificate)
    try unsafe checkTLS(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), key)
    try unsafe checkTLS(
      SSL_CTX_check_private_key(context), "\(key) is not the key of \(certificate)")
  }
}
