internal import Glibc

/// The folder that agent and relay of one user share: token, last words.
package struct RuntimeDirectory: Sendable {
  package let path: String

  /// `$XDG_RUNTIME_DIR/porthole`, or `/tmp/porthole-UID` where there is no such variable; made with
  /// mode 0700 if missing. Throws when it belongs to somebody else or others may enter.
  package init() throws(PosixError) {
    let base = Environment.value(of: "XDG_RUNTIME_DIR") ?? ""
    try self.init(path: base.hasPrefix("/") ? base + "/porthole" : "/tmp/porthole-\(getuid())")
  }

  package init(path: String) throws(PosixError) {
    if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw PosixError("mkdir \(path)") }
    var found = stat()
    try check(unsafe lstat(path, &found), "stat \(path)")
    guard found.st_mode & S_IFMT == S_IFDIR else {
      throw PosixError("\(path)", code: ENOTDIR)
    }
    guard found.st_uid == getuid(), found.st_mode & 0o077 == 0 else {
      throw PosixError("\(path) must be this user's with mode 0700", code: EPERM)
    }
    self.path = path
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// The process's environment.
package enum Environment {
  package static func value(of name: String) -> String? {
    guard let text = unsafe getenv(name) else { return nil }
    return unsafe String(cString: text)
  }

  /// The value, which later readers and children do not find any more. Not beside other threads.
  package static func take(_ name: String) -> String? {
    defer { _ = unsafe unsetenv(name) }
    return value(of: name)
  }
}
