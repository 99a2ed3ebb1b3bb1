internal import Glibc

/// A system call that failed, with its errno.
package struct PosixError: Error, Equatable, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package init(_ call: String, code: Int32 = errno) {
    self.call = call
    self.code = code
  }

  package var description: String {
    // strerror's text is static for every code that Linux has.
    "\(call): \(unsafe String(cString: strerror(code)))"
  }
}

/// `result`, unless it is negative; then errno's error under the name of `call`.
@discardableResult
package func check<Result: SignedInteger>(
  _ result: Result, _ call: String
) throws(PosixError) -> Result {
  guard result >= 0 else { throw PosixError(call) }
  return result
}
