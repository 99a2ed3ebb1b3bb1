import CUV

/// A libuv call that failed; `code` is its negative errno.
struct UVError: Error, CustomStringConvertible {
  let call: StaticString
  let code: Int32

  var description: String { "\(call): \(uvErrorText(code))" }
}

/// Turns libuv's negative results into throws; nothing above the Loop folder sees a status integer.
func checkUV(_ code: Int32, _ call: StaticString) throws(UVError) {
  guard code < 0 else { return }
  throw UVError(call: call, code: code)
}

/// libuv's words for a negative errno.
func uvErrorText(_ code: Int32) -> String {
  unsafe uv_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
