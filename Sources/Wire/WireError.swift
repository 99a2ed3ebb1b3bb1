/// Why a peer's bytes are not a message. Each ends that peer's link, never the process.
package enum WireError: Error, Equatable, CustomStringConvertible {
  case payloadTooLong(length: Int, limit: Int)
  case unknownKind(UInt32)
  /// The first bytes are those of an HTTP request.
  case looksLikeHTTP
  /// The payload ends inside a field, or goes on behind the last.
  case wrongLength(MessageKind)
  case invalid(String)
  case notPorthole
  case otherVersion(UInt32)

  package var description: String {
    switch self {
    case .payloadTooLong(let length, let limit): "payload of \(length) bytes exceeds \(limit)"
    case .unknownKind(let kind): "unknown message kind \(kind)"
    case .looksLikeHTTP: "this port does not speak HTTP"
    case .wrongLength(let kind): "\(kind) message of the wrong length"
    case .invalid(let field): "invalid \(field)"
    case .notPorthole: "greeting is not Porthole's"
    case .otherVersion(let version):
      "protocol version \(version), this is \(WireVersion.current)"
    }
  }
}
