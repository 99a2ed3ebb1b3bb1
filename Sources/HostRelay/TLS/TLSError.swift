import COpenSSL

/// A call of OpenSSL that failed: what was wanted, and what OpenSSL says of it.
struct TLSError: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    var text = [CChar](repeating: 0, count: 256)
    let code = ERR_get_error()
    guard code != 0 else {
      description = what
      return
    }
    unsafe ERR_error_string_n(code, &text, text.count)
    // "error:0A000086:SSL routines::certificate verify failed": the last part is for people.
    let words = String(
      decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    description = "\(what): \(words.split(separator: ":").last ?? "unknown error")"
    // Older errors would be told of the next call.
    ERR_clear_error()
  }
}

/// `pointer`, unless OpenSSL gave none.
func checkTLS<Pointer>(_ pointer: Pointer?, _ what: String) throws(TLSError) -> Pointer {
  guard let pointer else { throw TLSError(what) }
  return pointer
}

/// 1 is success for most of OpenSSL's calls.
func checkTLS(_ result: Int32, _ what: String) throws(TLSError) {
  guard result > 0 else { throw TLSError(what) }
}
