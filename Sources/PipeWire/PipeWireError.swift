import Glibc

/// A libpipewire call that failed; `code` is an errno, 0 where the library gave none.
package struct PipeWireError: Error, Equatable, CustomStringConvertible {
  package let call: StaticString
  /// An errno, positive.
  package let code: Int32

  package init(call: StaticString, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String {
    code == 0 ? "\(call) failed" : unsafe "\(call): \(String(cString: strerror(code)))"
  }

  package static func == (a: PipeWireError, b: PipeWireError) -> Bool {
    a.code == b.code && a.call.description == b.call.description
  }
}

/// Turns the library's negative errno into a throw.
@discardableResult
func check(_ result: Int32, _ call: StaticString) throws(PipeWireError) -> Int32 {
  guard result >= 0 else { throw PipeWireError(call: call, code: -result) }
  return result
}

/// Turns a null pointer, whose reason stands in errno, into a throw.
func check<Pointee>(
  _ pointer: UnsafeMutablePointer<Pointee>?, _ call: StaticString
) throws(PipeWireError) -> UnsafeMutablePointer<Pointee> {
  guard let pointer = unsafe pointer else { throw PipeWireError(call: call, code: errno) }
  return unsafe pointer
}

/// The same for a type whose layout the library keeps to itself.
func check(_ pointer: OpaquePointer?, _ call: StaticString) throws(PipeWireError) -> OpaquePointer {
  guard let pointer = unsafe pointer else { throw PipeWireError(call: call, code: errno) }
  return unsafe pointer
}
