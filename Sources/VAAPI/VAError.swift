import CVA

/// Why libva could not do what was asked.
package enum VAError: Error, Equatable {
  /// A libva call that failed, with its VAStatus.
  case failed(call: String, status: Int32)
  /// Something that has to be there is not: one line for a user.
  case unavailable(String)
}

extension VAError {
  /// Whether a picture did not fit its coded buffer.
  package var isBufferTooSmall: Bool {
    guard case .failed(_, let status) = self else { return false }
    return status == VA_STATUS_ERROR_NOT_ENOUGH_BUFFER
  }

  /// Whether the driver could not have the memory that it needs.
  package var isOutOfMemory: Bool {
    guard case .failed(_, let status) = self else { return false }
    return status == VA_STATUS_ERROR_ALLOCATION_FAILED
  }
}

extension VAError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .failed(let call, let status):
      unsafe "\(call): \(String(cString: vaErrorStr(status)))"
    case .unavailable(let what): what
    }
  }
}

/// Turns a VAStatus into a throw; nothing above this room sees a status integer.
func check(_ status: VAStatus, _ call: StaticString) throws(VAError) {
  if status != VA_STATUS_SUCCESS { throw .failed(call: "\(call)", status: status) }
}
