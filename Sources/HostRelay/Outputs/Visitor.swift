import Posix

/// Who stands at the other end of a new connection, as far as the kernel can say.
enum Visitor {
  /// A process of our own user on this machine: needs no key.
  case ourUser
  /// Anybody else: needs a key.
  case stranger

  /// Looks at once: the kernel can tell only while the peer holds its socket.
  init(on socket: Int32) {
    let isOurs = (try? PeerIdentity.isSameUser(peerOf: socket)) ?? false
    self = isOurs ? .ourUser : .stranger
  }

  /// Whether this visitor may do what `wanted` opens, having shown `key`.
  func may(showing key: [UInt8], wanted: AccessKey) -> Bool {
    switch self {
    case .ourUser: true
    case .stranger: wanted.matches(key)
    }
  }
}

/// What lets other users, and other machines, in: the viewer key, which is part of the address that
/// is printed and only watches, or the control key. One never serves for the other.
struct AccessKey: Equatable {
  let text: String

  /// How one that is given must look.
  static let form = "8 to 64 letters, digits, - or _"

  /// From a secret that is kept in a file: 128 bits in hexadecimal.
  init(_ secret: LinkToken) {
    text = secret.bytes.prefix(16).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// As the user gave it; nil unless 8 to 64 letters, digits, `-` or `_`, which need no escape.
  init?(_ text: String) {
    let isPlain = text.utf8.allSatisfy { byte in
      (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        || byte == 45 || byte == 95
    }
    guard isPlain, (8...64).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  /// In a time that does not tell how much of it is right.
  func matches(_ key: [UInt8]) -> Bool { constantTimeEqual(key, Array(text.utf8)) }
}
