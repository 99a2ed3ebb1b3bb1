internal import Glibc

/// The secret of the agent's link: 32 random bytes in a file that only this user may read. Whoever
/// starts first makes it.
package struct LinkToken: Sendable {
  package static let byteCount = 32
  /// What to do where relay and agent have different ones.
  package static let remedy =
    "run both with one XDG_RUNTIME_DIR, or name the relay's token to the agent by --token-file"
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    precondition(bytes.count == Self.byteCount, "a token has 32 bytes")
    self.bytes = bytes
  }

  /// Reads the token of the file at `path`, which is made if it is missing: written whole under
  /// another name and then linked, so that of two makers one wins and both read the same.
  package init(file path: String) throws(PosixError) {
    if let token = try Self.read(path) {
      self = token
      return
    }
    let draft = "\(path).\(getpid())"
    _ = unsafe unlink(draft)
    let file = OwnedFD(
      try check(unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600), "open \(draft)")
    )
    defer { _ = unsafe unlink(draft) }
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let written = unsafe bytes.withUnsafeBytes { unsafe write(file.raw, $0.baseAddress, $0.count) }
    guard written == bytes.count else { throw PosixError("write \(draft)") }
    if unsafe link(draft, path) != 0, errno != EEXIST { throw PosixError("link \(path)") }
    try self.init(existing: path)
  }

  /// Reads the token of a file that somebody else has made; throws ENOENT where it is not there.
  package init(existing path: String) throws(PosixError) {
    guard let token = try Self.read(path) else { throw PosixError("open \(path)", code: ENOENT) }
    self = token
  }

  private static func read(_ path: String) throws(PosixError) -> LinkToken? {
    let fd = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if fd < 0, errno == ENOENT { return nil }
    let file = OwnedFD(try check(fd, "open \(path)"))
    var found = stat()
    try check(unsafe fstat(file.raw, &found), "stat \(path)")
    guard found.st_uid == getuid(), found.st_mode & 0o077 == 0 else {
      throw PosixError("\(path) must be this user's with mode 0600", code: EPERM)
    }
    var bytes = [UInt8](repeating: 0, count: byteCount + 1)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(file.raw, $0.baseAddress, $0.count)
    }
    guard count == byteCount else {
      throw PosixError("\(path) is no token of \(byteCount) bytes", code: EINVAL)
    }
    return LinkToken(bytes: Array(bytes.prefix(byteCount)))
  }

  /// Compares in a time that does not tell how many bytes agree.
  package func matches(_ other: [UInt8]) -> Bool { constantTimeEqual(bytes, other) }
}

/// Whether two secrets are the same, in a time that depends on their lengths alone.
package func constantTimeEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  guard one.count == other.count else { return false }
  var difference: UInt8 = 0
  for index in one.indices { difference |= one[index] ^ other[index] }
  return difference == 0
}
