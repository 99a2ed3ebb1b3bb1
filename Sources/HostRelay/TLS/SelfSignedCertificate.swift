import COpenSSL
import Glibc
import Posix

/// A certificate that vouches for itself, for a relay that was given none, and its key: on P-256,
/// in one PEM file. Browsers ask about it once, and are then in a secure context.
enum SelfSignedCertificate {
  /// Browsers take no longer time of a certificate that is new to them.
  private static let days: Int32 = 397
  /// One that ends sooner is made anew.
  private static let leftSeconds = 7 * 86_400

  /// The one at `path`, made anew when it is missing, unreadable, about to expire, or not for all
  /// of `addresses` and `names`.
  static func kept(
    at path: String, addresses: [SocketAddress], names: [String]
  ) throws -> Certificate {
    if let kept = try? Certificate(file: path), kept.isValid(for: leftSeconds),
      kept.isFor(addresses: addresses, names: names)
    {
      return kept
    }
    let (certificate, pem) = try make(addresses: addresses, names: names)
    try StateDirectory.makeFolders(to: path)
    try TextFile.keep(pem, at: path)
    return certificate
  }

  private static func make(
    addresses: [SocketAddress], names: [String]
  ) throws(TLSError) -> (Certificate, pem: [UInt8]) {
    let key = try unsafe makeKey()
    defer { unsafe EVP_PKEY_free(key) }
    let certificate = unsafe Certificate(owning: try unsafe checkTLS(X509_new(), "X509_new"))
    let x509 = unsafe certificate.x509
    unsafe X509_set_version(x509, Int(X509_VERSION_3))
    // No two may agree in issuer and serial number: Firefox refuses the second.
    unsafe ASN1_INTEGER_set_uint64(
      X509_get_serialNumber(x509), UInt64.random(in: 1...UInt64(Int64.max)))
    unsafe X509_time_adj_ex(X509_getm_notBefore(x509), -1, 0, nil)
    unsafe X509_time_adj_ex(X509_getm_notAfter(x509), days - 1, 0, nil)
    unsafe X509_set_pubkey(x509, key)
    let name = unsafe X509_get_subject_name(x509)
    let commonName = Array("Porthole on \(names.first ?? "this machine")".utf8.prefix(64))
    unsafe X509_NAME_add_entry_by_txt(
      name, "CN", MBSTRING_UTF8, commonName, Int32(commonName.count), -1, 0)
    unsafe X509_set_issuer_name(x509, name)
    let alternatives =
      addresses.map { "IP:\($0.host)" } + names.map { "DNS:\($0)" }
    try unsafe add(NID_subject_alt_name, alternatives.joined(separator: ","), to: x509)
    try unsafe add(NID_basic_constraints, "critical,CA:FALSE", to: x509)
    try unsafe add(NID_ext_key_usage, "serverAuth", to: x509)
    try unsafe checkTLS(X509_sign(x509, key, EVP_sha256()), "X509_sign")
    let keyText = try unsafe PEM.text {
      unsafe PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil)
    }
    return (certificate, try certificate.pem() + keyText)
  }

  private static func makeKey() throws(TLSError) -> OpaquePointer {
    let context = try unsafe checkTLS(
      EVP_PKEY_CTX_new_id(NID_X9_62_id_ecPublicKey, nil), "EVP_PKEY_CTX_new_id")
    defer { unsafe EVP_PKEY_CTX_free(context) }
    try unsafe checkTLS(EVP_PKEY_keygen_init(context), "EVP_PKEY_keygen_init")
    try unsafe checkTLS(
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1), "P-256")
    var key: OpaquePointer?
    try unsafe checkTLS(EVP_PKEY_keygen(context, &key), "EVP_PKEY_keygen")
    return try unsafe checkTLS(key, "EVP_PKEY_keygen")
  }

  private static func add(
    _ kind: Int32, _ value: String, to x509: OpaquePointer
  ) throws(TLSError) {
    let extent = try unsafe checkTLS(X509V3_EXT_conf_nid(nil, nil, kind, value), value)
    defer { unsafe X509_EXTENSION_free(extent) }
    try unsafe checkTLS(X509_add_ext(x509, extent, -1), value)
  }
}
